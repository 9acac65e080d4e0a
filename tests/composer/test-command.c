#include "composer/command.h"

#include <math.h>
#include <string.h>

static const char *const ids[] = { "a", "b", "c", "d", "e", "f" };

static const char *
any (GRand *rand, const char *const *list, guint n)
{
  return list[g_rand_int_range (rand, 0, (int)n)];
}

/* A random command, which may or may not apply. */
static TwCommand
draw (GRand *rand, TwOwed *owed)
{
  static const char *const ports[] = { "x", "y", "z", "" };
  static const char *const values[] = { "1", "two", "a < b", "\xff", NULL };
  TwCommand command = { .kind = (TwCommandKind)g_rand_int_range (rand, 0, TW_COMMAND_SET_DOC + 1),
                        .node = any (rand, ids, 6),
                        .to_node = any (rand, ids, 6),
                        .port = any (rand, ports, 4),
                        .to_port = any (rand, ports, 3),
                        .block = any (rand, ids, 6),
                        .name = any (rand, ids, 6),
                        .value = any (rand, values, 5),
                        .x = g_rand_int_range (rand, -9, 9),
                        .y = g_rand_double (rand),
                        .flag = g_rand_boolean (rand),
                        .owed = owed,
                        .n_owed = g_rand_int_range (rand, 0, 2) };
  if (command.kind == TW_COMMAND_RENAME_NODE || command.kind == TW_COMMAND_SET_ORIGIN
      || command.kind == TW_COMMAND_SET_NAME)
    command.value = any (rand, ids, 6);
  *owed = (TwOwed){ "a", "y", g_rand_int_range (rand, -70, 70), 0, 0 };
  command.dimension = (TwDimension){ .name = any (rand, ids, 6),
                                     .dynamic = g_rand_boolean (rand),
                                     .value = g_rand_int_range (rand, -1, 9),
                                     .maximum = 8,
                                     .multiple = g_rand_int_range (rand, 0, 3) };
  return command;
}

/* After any commands, undo gives back every earlier XML to the byte, redo every later one; a
 * command that is refused changes nothing; lookups agree with a graph read anew. */
static void
test_undo (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  for (int round = 0; round < 60; round++)
    {
      g_autoptr (TwGraph) graph = tw_graph_new ("g");
      g_autoptr (TwHistory) history = tw_history_new (graph);
      g_autoptr (GPtrArray) states = g_ptr_array_new_with_free_func (g_free);
      g_ptr_array_add (states, tw_graph_to_xml (graph));
      for (int i = 0; i < 120; i++)
        {
          TwOwed owed;
          TwCommand command = draw (rand, &owed);
          g_autoptr (GError) error = NULL;
          gboolean good = tw_history_apply (history, &command, &error);
          g_autofree char *xml = tw_graph_to_xml (graph);
          g_assert_true (good == (error == NULL));
          if (good)
            g_ptr_array_add (states, g_steal_pointer (&xml));
          else
            g_assert_cmpstr (xml, ==, states->pdata[states->len - 1]);
        }
      g_autoptr (GError) error = NULL;
      const char *last = states->pdata[states->len - 1];
      g_autoptr (TwGraph) read = tw_graph_parse (last, strlen (last), &error);
      g_assert_no_error (error);
      for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
        {
          g_autoptr (GPtrArray) here = tw_graph_get_links_from (graph, ids[i], NULL);
          g_autoptr (GPtrArray) there = tw_graph_get_links_from (read, ids[i], NULL);
          g_assert_cmpuint (here->len, ==, there->len);
          g_assert_true ((tw_graph_get_node (graph, ids[i]) == NULL)
                         == (tw_graph_get_node (read, ids[i]) == NULL));
          g_assert_true ((tw_graph_get_link_to (graph, ids[i], "x") == NULL)
                         == (tw_graph_get_link_to (read, ids[i], "x") == NULL));
        }
      for (guint i = states->len - 1; i-- > 0;)
        {
          g_assert_true (tw_history_undo (history));
          g_autofree char *xml = tw_graph_to_xml (graph);
          g_assert_cmpstr (xml, ==, states->pdata[i]);
        }
      g_assert_false (tw_history_undo (history));
      for (guint i = 1; i < states->len; i++)
        {
          g_assert_true (tw_history_redo (history));
          g_autofree char *xml = tw_graph_to_xml (graph);
          g_assert_cmpstr (xml, ==, states->pdata[i]);
        }
      g_assert_false (tw_history_redo (history));
    }
}

static void
apply (TwHistory *history, TwCommand command)
{
  g_autoptr (GError) error = NULL;
  g_assert_true (tw_history_apply (history, &command, &error));
  g_assert_no_error (error);
}

static void
test_groups (void)
{
  g_autoptr (TwGraph) graph = tw_graph_new ("g");
  g_autoptr (TwHistory) history = tw_history_new (graph);
  tw_history_begin (history, "insert pair");
  apply (history, (TwCommand){ .kind = TW_COMMAND_ADD_NODE, .node = "a", .block = "relu" });
  tw_history_begin (history, "inner");
  apply (history, (TwCommand){ .kind = TW_COMMAND_ADD_NODE, .node = "b", .block = "relu" });
  tw_history_end (history);
  g_assert_false (tw_history_undo (history));
  tw_history_end (history);
  g_assert_cmpstr (tw_history_get_undo_name (history), ==, "insert pair");
  tw_history_begin (history, "nothing");
  tw_history_end (history);
  g_assert_true (tw_history_undo (history));
  g_assert_cmpint (tw_graph_get_n_nodes (graph), ==, 0);
  g_assert_null (tw_history_get_undo_name (history));
  g_assert_cmpstr (tw_history_get_redo_name (history), ==, "insert pair");
  /* A new command takes the redo away. */
  apply (history, (TwCommand){ .kind = TW_COMMAND_SET_NAME, .value = "h" });
  g_assert_false (tw_history_redo (history));
  g_assert_cmpstr (tw_history_get_undo_name (history), ==, "set-name");
}

static void
test_effects (void)
{
  g_autoptr (TwGraph) graph = tw_graph_new ("g");
  g_autoptr (TwHistory) history = tw_history_new (graph);
  apply (history, (TwCommand){ .kind = TW_COMMAND_ADD_NODE, .node = "a", .block = "input" });
  apply (history, (TwCommand){ .kind = TW_COMMAND_ADD_NODE, .node = "b", .block = "relu" });
  apply (history, (TwCommand){ .kind = TW_COMMAND_CONNECT,
                               .node = "a",
                               .port = "y",
                               .to_node = "b",
                               .to_port = "x" });
  apply (history, (TwCommand){
                      .kind = TW_COMMAND_SET_FUSE, .to_node = "b", .to_port = "x", .flag = TRUE });
  /* Rewired, the demand stays. */
  apply (history, (TwCommand){ .kind = TW_COMMAND_CONNECT,
                               .node = "a",
                               .port = "z",
                               .to_node = "b",
                               .to_port = "x" });
  g_assert_cmpint (tw_graph_get_n_links (graph), ==, 1);
  g_assert_true (tw_graph_get_link_to (graph, "b", "x")->fuse_required);
  apply (history, (TwCommand){ .kind = TW_COMMAND_RENAME_NODE, .node = "a", .value = "q" });
  g_assert_cmpstr (tw_graph_get_link_to (graph, "b", "x")->from_node, ==, "q");
  apply (history, (TwCommand){
                      .kind = TW_COMMAND_SET_PARAM, .node = "q", .name = "max-rms", .value = "2" });
  g_assert_cmpstr (tw_graph_get_node (graph, "q")->params[0].value, ==, "2");
  apply (history, (TwCommand){ .kind = TW_COMMAND_SET_PARAM, .node = "q", .name = "max-rms" });
  g_assert_cmpint (tw_graph_get_node (graph, "q")->n_params, ==, 0);
  apply (history, (TwCommand){ .kind = TW_COMMAND_REMOVE_NODE, .node = "q" });
  g_assert_cmpint (tw_graph_get_n_links (graph), ==, 0);
}

/* The file keeps a place for a node that is not there; who comes by that id takes it. */
static void
test_places (void)
{
  static const char xml[] = "<graph format=\"1\" name=\"g\"><node id=\"a\" block=\"b\"/><layout>"
                            "<place node=\"gone\" x=\"1\" y=\"2\" tint=\"3\"/>"
                            "<place node=\"lost\" x=\"4\" y=\"5\"/></layout></graph>";
  g_autoptr (GError) error = NULL;
  g_autoptr (TwGraph) graph = tw_graph_parse (xml, strlen (xml), &error);
  g_assert_no_error (error);
  g_autoptr (TwHistory) history = tw_history_new (graph);
  g_autofree char *before = tw_graph_to_xml (graph);
  apply (history, (TwCommand){ .kind = TW_COMMAND_ADD_NODE, .node = "gone", .block = "relu" });
  g_assert_true (tw_graph_get_node (graph, "gone")->placed);
  g_assert_cmpfloat (tw_graph_get_node (graph, "gone")->y, ==, 2);
  apply (history, (TwCommand){ .kind = TW_COMMAND_MOVE_NODE, .node = "gone", .x = 1e-300, .y = 9 });
  apply (history, (TwCommand){ .kind = TW_COMMAND_MOVE_NODE, .node = "a", .x = 7, .y = 7 });
  apply (history, (TwCommand){ .kind = TW_COMMAND_RENAME_NODE, .node = "a", .value = "lost" });
  g_assert_cmpfloat (tw_graph_get_node (graph, "lost")->x, ==, 7);
  g_autofree char *after = tw_graph_to_xml (graph);
  g_autoptr (TwGraph) read = tw_graph_parse (after, strlen (after), &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (tw_graph_get_node (read, "gone")->x, ==, 1e-300);
  g_assert_nonnull (strstr (after, "y=\"9\" tint=\"3\""));
  while (tw_history_undo (history))
    ;
  g_autofree char *undone = tw_graph_to_xml (graph);
  g_assert_cmpstr (undone, ==, before);
}

static void
test_refused (void)
{
  g_autoptr (TwGraph) graph = tw_graph_new ("g");
  const TwCommand commands[] = {
    { .kind = TW_COMMAND_ADD_NODE, .node = "1a", .block = "relu" },
    { .kind = TW_COMMAND_ADD_NODE, .node = "a b", .block = "relu" },
    { .kind = TW_COMMAND_ADD_NODE, .node = "a", .block = "" },
    { .kind = TW_COMMAND_ADD_NODE, .block = "relu" },
    { .kind = TW_COMMAND_REMOVE_NODE, .node = "a" },
    { .kind = TW_COMMAND_REMOVE_NODE },
    { .kind = TW_COMMAND_CONNECT, .node = "a", .port = "y", .to_node = "b", .to_port = "x" },
    { .kind = TW_COMMAND_DISCONNECT, .to_node = "b", .to_port = "x" },
    { .kind = TW_COMMAND_SET_NAME, .value = "a-b" },
    { .kind = TW_COMMAND_SET_DOC, .value = "bell \a" },
    { .kind = TW_COMMAND_REMOVE_DIMENSION, .name = "T" },
    { .kind = TW_COMMAND_SET_DIMENSION, .dimension = { .name = "T", .value = -1 } },
    { .kind = (TwCommandKind)99 },
  };
  g_autofree char *before = tw_graph_to_xml (graph);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_false (tw_graph_apply (graph, &commands[i], &error));
      g_assert_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_COMMAND);
      g_autofree char *after = tw_graph_to_xml (graph);
      g_assert_cmpstr (after, ==, before);
    }
  TwCommand add = { .kind = TW_COMMAND_ADD_NODE, .node = "a", .block = "relu" };
  TwCommand move = { .kind = TW_COMMAND_MOVE_NODE, .node = "a", .x = NAN };
  g_assert_true (tw_graph_apply (graph, &add, NULL));
  g_assert_false (tw_graph_apply (graph, &add, NULL));
  g_assert_false (tw_graph_apply (graph, &move, NULL));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/command/undo", test_undo);
  g_test_add_func ("/command/groups", test_groups);
  g_test_add_func ("/command/effects", test_effects);
  g_test_add_func ("/command/places", test_places);
  g_test_add_func ("/command/refused", test_refused);
  return g_test_run ();
}

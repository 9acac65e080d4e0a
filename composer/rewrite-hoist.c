/* Hoisting: scales of rows move past what carries them until they sit right behind a contraction.
 *
 * First the whole region that a scale would owe through is looked at, without changing anything:
 * all scales by the same s move together, since an addition carries only what both its operands
 * owe. A scale on a path that ends otherwise than in a contraction stays, with a refusal, and the
 * rest is looked at again. Then the moves are made, one node a step, in topological order, so that
 * the graph after each step is whole. */
#include "rewrite-hoist.h"

#include <math.h>
#include <string.h>

#define F16_MAX 65504.0

static void
free_stop (gpointer data)
{
  TwStop *stop = data;
  g_array_unref (stop->ports);
  g_hash_table_unref (stop->scales);
  g_free (stop);
}

static TwStop *
get_stop (TwHoist *hoist, const char *id)
{
  TwStop *stop = g_hash_table_lookup (hoist->stops, id);
  if (stop)
    return stop;
  stop = g_new0 (TwStop, 1);
  stop->id = id;
  stop->position = tw_rewriting_get_position (hoist->rewriting, id);
  stop->block = tw_rewriting_get_block (hoist->rewriting, id);
  stop->ports = g_array_new (FALSE, FALSE, sizeof (TwOwedPort));
  stop->scales = g_hash_table_new (g_str_hash, g_str_equal);
  stop->bound = INFINITY;
  g_hash_table_insert (hoist->stops, (gpointer)id, stop);
  g_ptr_array_add (hoist->pending, stop);
  return stop;
}

/* Refusals */

/* The scales that come through `stop` stay. */
static void G_GNUC_PRINTF (3, 4) fail (TwHoist *hoist, const TwStop *stop, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *reason = g_strdup_vprintf (format, args);
  va_end (args);
  const char *rule = stop->nonlinear ? "hoist-scale-homogeneous" : "hoist-scale-linear";
  g_autoptr (GList) scales = g_hash_table_get_keys (stop->scales);
  if (!scales) /* cannot be; but a member must go, or the look would be repeated for ever */
    g_hash_table_remove_all (hoist->members);
  scales = g_list_sort (scales, (GCompareFunc)strcmp);
  for (const GList *item = scales; item; item = item->next)
    {
      tw_rewriting_refuse (hoist->rewriting, rule, item->data, "%s", reason);
      g_hash_table_remove (hoist->members, item->data);
    }
}

static gboolean
has_law (const TwBlock *block, TwLawKind kind, const char *operand, const TwLaw **law)
{
  for (int i = 0; i < block->n_laws; i++)
    if (block->laws[i].kind == kind
        && g_strv_contains ((const char *const *)block->laws[i].inputs, operand))
      {
        *law = &block->laws[i];
        return TRUE;
      }
  return FALSE;
}

/* Why the owed operands do not pass. */
static void
fail_at_force (TwHoist *hoist, const TwStop *stop, const char *const *operands)
{
  const TwBlock *block = stop->block;
  const char *s = hoist->s.node;
  const TwLaw *law = NULL;
  for (int i = 0; operands[i]; i++)
    if (block->kind == TW_KIND_CONTRACTION)
      {
        const char *one[] = { operands[i], NULL };
        if (tw_law_predict_degree (block, NULL, one, NULL) == TW_LAW_NONE)
          {
            fail (
                hoist, stop,
                "operand %s of product %s is summed along the rows that %s scales: the scale lies "
                "inside the sum and does not come out",
                operands[i], stop->id, s);
            return;
          }
      }
  for (int i = 0; operands[i]; i++)
    if (has_law (block, TW_LAW_DEGREE, operands[i], &law))
      for (int j = 0; law->inputs[j]; j++)
        if (!g_strv_contains (operands, law->inputs[j]))
          {
            fail (hoist, stop,
                  "%s (%s) joins %s to %s, and %s does not owe %s: the scale must be paid before "
                  "the two meet",
                  stop->id, block->id, law->inputs[j], operands[i], law->inputs[j], s);
            return;
          }
  for (int i = 0; operands[i]; i++)
    if (has_law (block, TW_LAW_FORCE, operands[i], &law))
      {
        if (block->kind == TW_KIND_ELEMENTWISE && has_law (block, TW_LAW_SHIFT, operands[i], &law))
          fail (
              hoist, stop,
              "%s (%s) is added before %s is paid: a bias is carried only if it is divided by the "
              "scale",
              stop->id, block->id, s);
        else
          fail (hoist, stop,
                "force point: %s (%s) is not homogeneous in %s, so that %s must be paid before it",
                stop->id, block->id, operands[i], s);
        return;
      }
  fail (hoist, stop,
        "force point: %s (%s) carries no scale of its rows, so that %s must be paid "
        "before it",
        stop->id, block->id, s);
}

/* Looking */

static int
compare_stops (gconstpointer a, gconstpointer b)
{
  const TwStop *x = *(const TwStop *const *)a, *y = *(const TwStop *const *)b;
  return (x->position > y->position) - (x->position < y->position);
}

static TwStop *
take_first (TwHoist *hoist)
{
  guint first = 0;
  for (guint i = 1; i < hoist->pending->len; i++)
    if (compare_stops (&hoist->pending->pdata[i], &hoist->pending->pdata[first]) < 0)
      first = i;
  return g_ptr_array_remove_index_fast (hoist->pending, first);
}

/* Operand names of the ports that owe (borrowed from the block), NULL-terminated. g_free. */
static const char **
list_operands (const TwStop *stop, int *degrees)
{
  const char **names = g_new0 (const char *, 2 * (gsize)stop->ports->len + 1);
  int n = 0;
  for (guint i = 0; i < stop->ports->len; i++)
    {
      const TwOwedPort *owed = &g_array_index (stop->ports, TwOwedPort, i);
      const TwPortSpec *port = tw_block_get_port (stop->block, owed->port);
      for (int o = 0; o < 2 && port; o++)
        {
          const char *name = port->operands[o] ? port->operands[o] : o == 0 ? port->id : NULL;
          if (name)
            {
              degrees[n] = owed->degree;
              names[n++] = name;
            }
        }
    }
  return names;
}

static gboolean
reads_any (const TwBlock *block, int output, const char *const *operands)
{
  for (int i = 0; operands[i]; i++)
    {
      int operand = tw_block_get_operand (block, operands[i]);
      if (block->formula && operand >= 0
          && tw_formula_output_uses_input (block->formula, output, operand))
        return TRUE;
    }
  return FALSE;
}

/* Degree of an output; TW_LAW_NONE if it has none. *linear: for scales of any sign. */
static int
predict (const TwHoist *hoist, const TwStop *stop, const char *const *operands, const int *degrees,
         const char *output, gboolean *linear)
{
  const TwNode *node = tw_graph_get_node (hoist->rewriting->graph, stop->id);
  gboolean equal = TRUE, each = TRUE;
  int sum = 0;
  for (int i = 0; operands[i]; i++)
    {
      const char *one[] = { operands[i], NULL };
      int degree = tw_law_predict_degree (stop->block, node, one, output);
      equal &= degrees[i] == degrees[0];
      each &= degree != TW_LAW_NONE;
      *linear &= tw_law_is_linear (stop->block, one, output);
      sum += degree == TW_LAW_NONE ? 0 : degree * degrees[i];
    }
  if (tw_law_is_linear (stop->block, operands, output))
    *linear = TRUE;
  if (each)
    return sum;
  int joint = equal ? tw_law_predict_degree (stop->block, node, operands, output) : TW_LAW_NONE;
  return joint == TW_LAW_NONE ? joint : joint * degrees[0];
}

/* What is promised of the stored values behind `stop`. */
static double
carry_bound (const TwHoist *hoist, const TwStop *stop, int degree)
{
  const TwOwedPort *owed = &g_array_index (stop->ports, TwOwedPort, 0);
  const TwRewriting *rewriting = hoist->rewriting;
  if (stop->ports->len != 1)
    return INFINITY;
  if (stop->block->n_operands == 1 && owed->degree != 0)
    return pow (MAX (owed->bound, 1), fabs ((double)degree / owed->degree));
  /* The promise is about x*gamma of the same norm. */
  const TwNode *node = tw_graph_get_node (rewriting->graph, stop->id);
  for (int p = 0; p < stop->block->n_ports; p++)
    if (stop->block->ports[p].role == TW_ROLE_PER_COLUMN && node->origin)
      {
        GHashTableIter iter;
        gpointer scale;
        g_hash_table_iter_init (&iter, stop->scales);
        while (g_hash_table_iter_next (&iter, &scale, NULL))
          {
            const TwNode *other = tw_graph_get_node (rewriting->graph, scale);
            if (!other || g_strcmp0 (other->origin, node->origin) != 0)
              return INFINITY;
          }
        return owed->bound;
      }
  return INFINITY;
}

/* max-rms * sqrt(columns) of the drawn norm that `scale` belongs to. */
static double
get_promise (const TwHoist *hoist, const char *scale)
{
  const TwRewriting *rewriting = hoist->rewriting;
  const TwNode *node = tw_graph_get_node (rewriting->graph, scale);
  const TwNode *drawn
      = tw_graph_get_node (rewriting->drawn, node->origin ? node->origin : node->id);
  const TwBlock *block = drawn ? tw_catalog_get (rewriting->catalog, drawn->block) : NULL;
  const TwType *type = tw_rewriting_get_type (rewriting, scale, "y");
  double rms = 0;
  if (!block || !type || type->n_dims < 1 || !tw_node_get_number (drawn, block, "max-rms", &rms))
    return INFINITY;
  return rms * sqrt ((double)tw_rewriting_get_extent (rewriting, type->dims[type->n_dims - 1]));
}

/* The links from an output owe s^degree: their ends come next. */
static void
spread (TwHoist *hoist, const TwStop *stop, const char *port, int degree)
{
  g_autoptr (GArray) readers = tw_rewriting_get_readers (hoist->rewriting, stop->id, port);
  for (guint i = 0; i < readers->len; i++)
    {
      TwEnd to = g_array_index (readers, TwEnd, i);
      TwStop *next = get_stop (hoist, to.node);
      TwOwedPort owed = { to.port, degree, stop->bound };
      GHashTableIter iter;
      gpointer scale;
      g_array_append_val (next->ports, owed);
      g_hash_table_iter_init (&iter, stop->scales);
      while (g_hash_table_iter_next (&iter, &scale, NULL))
        g_hash_table_add (next->scales, scale);
    }
}

/* Values stored in f16 must fit while they lack their scale. */
static gboolean
look_at_f16 (TwHoist *hoist, const TwStop *stop)
{
  for (guint i = 0; i < stop->ports->len; i++)
    {
      const TwOwedPort *owed = &g_array_index (stop->ports, TwOwedPort, i);
      TwEnd from = tw_rewriting_get_source (hoist->rewriting, stop->id, owed->port);
      const TwType *type = tw_rewriting_get_type (hoist->rewriting, from.node, from.port);
      if (!type || type->dtype != TW_DTYPE_F16 || owed->bound < F16_MAX)
        continue;
      if (isinf (owed->bound))
        fail (hoist, stop,
              "%s.%s is f16 and would be stored owing %s^%d: above 65504 it is infinite, and no "
              "bound is known (max-rms of the norm declares one)",
              stop->id, owed->port, hoist->s.node, owed->degree);
      else
        fail (hoist, stop,
              "%s.%s is f16 and would be stored owing %s^%d: max-rms allows values up to %.6g, and "
              "above 65504 f16 is infinite",
              stop->id, owed->port, hoist->s.node, owed->degree, owed->bound);
      return FALSE;
    }
  return TRUE;
}

/* One output of `stop`; FALSE with a refusal. */
static gboolean
look_at_output (TwHoist *hoist, TwStop *stop, int output, const char *const *operands,
                const int *degrees)
{
  const char *port = stop->block->outputs[output].name;
  gboolean linear = TRUE;
  int degree = predict (hoist, stop, operands, degrees, port, &linear);
  if (degree == TW_LAW_NONE)
    {
      fail_at_force (hoist, stop, operands);
      return FALSE;
    }
  stop->nonlinear |= !linear;
  if (!linear && !hoist->positive)
    {
      fail (hoist, stop, "past %s (%s) a scale moves only if it is positive: %s", stop->id,
            stop->block->id, hoist->words);
      return FALSE;
    }
  if (!tw_rewriting_degree_fits (hoist->rewriting, degree))
    {
      fail (hoist, stop,
            "behind %s the scale would be %s^%d, a power that scale_rows does not take", stop->id,
            hoist->s.node, degree);
      return FALSE;
    }
  stop->degrees[output] = degree;
  stop->bound = carry_bound (hoist, stop, degree);
  if (degree != 0 && stop->block->kind != TW_KIND_CONTRACTION)
    spread (hoist, stop, port, degree);
  return TRUE;
}

/* A scale that moves, reached by another: their powers add. */
static gboolean
look_at_member (TwHoist *hoist, TwStop *stop)
{
  int degree = tw_rewriting_get_degree (hoist->rewriting, stop->id);
  for (guint i = 0; i < stop->ports->len; i++)
    {
      const TwOwedPort *owed = &g_array_index (stop->ports, TwOwedPort, i);
      if ((owed->degree < 0 || degree < 0) && !hoist->positive)
        {
          fail (hoist, stop, "at %s negative powers meet, and %s", stop->id, hoist->words);
          return FALSE;
        }
      degree += owed->degree;
    }
  if (!tw_rewriting_degree_fits (hoist->rewriting, degree))
    {
      fail (hoist, stop, "at %s the scale would be %s^%d, a power that scale_rows does not take",
            stop->id, hoist->s.node, degree);
      return FALSE;
    }
  stop->degrees[0] = degree;
  stop->bound = stop->ports->len > 0 ? INFINITY : get_promise (hoist, stop->id);
  g_hash_table_add (stop->scales, (gpointer)stop->id);
  if (degree != 0)
    spread (hoist, stop, "y", degree);
  return TRUE;
}

static gboolean
look_at (TwHoist *hoist, TwStop *stop)
{
  if (!look_at_f16 (hoist, stop))
    return FALSE;
  if (stop->member)
    return look_at_member (hoist, stop);
  TwBlockKind kind = stop->block ? stop->block->kind : TW_KIND_SINK;
  if (kind == TW_KIND_SINK)
    {
      fail (hoist, stop, "the scaled value leaves the graph at output %s", stop->id);
      return FALSE;
    }
  if (kind != TW_KIND_CONTRACTION && kind != TW_KIND_ELEMENTWISE)
    {
      fail (hoist, stop,
            "%s (%s) gathers a statistic of the scaled value, so that %s must be paid "
            "before it",
            stop->id, stop->block->id, hoist->s.node);
      return FALSE;
    }
  g_autofree int *degrees = g_new0 (int, 2 * (gsize)stop->ports->len + 1);
  g_autofree const char **operands = list_operands (stop, degrees);
  for (int o = 0; o < stop->block->n_outputs; o++)
    if (reads_any (stop->block, o, operands))
      {
        if (o >= (int)G_N_ELEMENTS (stop->degrees))
          {
            fail (hoist, stop, "%s (%s) has more outputs than rules look at", stop->id,
                  stop->block->id);
            return FALSE;
          }
        if (!look_at_output (hoist, stop, o, operands, degrees))
          return FALSE;
      }
  return TRUE;
}

static void
clear_look (TwHoist *hoist)
{
  g_ptr_array_set_size (hoist->pending, 0);
  g_ptr_array_set_size (hoist->order, 0);
  g_hash_table_remove_all (hoist->stops);
}

/* The region of all members; FALSE if one has been refused and the rest must be looked at again. */
static gboolean
look (TwHoist *hoist)
{
  GHashTableIter iter;
  gpointer id;
  clear_look (hoist);
  g_hash_table_iter_init (&iter, hoist->members);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    {
      TwStop *stop = get_stop (hoist, id);
      stop->member = TRUE;
    }
  while (hoist->pending->len > 0)
    {
      TwStop *stop = take_first (hoist);
      if (!look_at (hoist, stop))
        return FALSE;
      g_ptr_array_add (hoist->order, stop);
    }
  return TRUE;
}

static void
hoist_group (TwRewriting *rewriting, TwEnd s, GHashTable *members)
{
  TwHoist hoist = { .rewriting = rewriting, .s = s, .members = members };
  hoist.positive = tw_rewriting_is_positive (rewriting, s, &hoist.words);
  hoist.stops = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, free_stop);
  hoist.pending = g_ptr_array_new ();
  hoist.order = g_ptr_array_new ();
  hoist.credit = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  /* Each round without success takes at least one member out. */
  while (g_hash_table_size (members) > 0 && !look (&hoist))
    ;
  if (g_hash_table_size (members) > 0)
    tw_hoist_move (&hoist);
  g_free (hoist.words);
  g_hash_table_unref (hoist.stops);
  g_ptr_array_unref (hoist.pending);
  g_ptr_array_unref (hoist.order);
  g_hash_table_unref (hoist.credit);
}

void
tw_rewrite_hoist_scales (TwRewriting *rewriting)
{
  g_autoptr (GPtrArray) scales = tw_rewriting_list (rewriting, tw_rewriting_is_scale);
  g_autoptr (GHashTable) groups
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_hash_table_unref);
  g_autoptr (GPtrArray) order = g_ptr_array_new ();
  for (guint i = 0; i < scales->len; i++)
    {
      TwEnd s = tw_rewriting_get_source (rewriting, scales->pdata[i], "s");
      if (!s.node)
        continue;
      g_autofree char *key = g_strdup_printf ("%s.%s", s.node, s.port);
      GHashTable *members = g_hash_table_lookup (groups, key);
      if (!members)
        {
          members = g_hash_table_new (g_str_hash, g_str_equal);
          g_hash_table_insert (groups, g_steal_pointer (&key), members);
          g_ptr_array_add (order, members);
          g_ptr_array_add (order, scales->pdata[i]);
        }
      g_hash_table_add (members, scales->pdata[i]);
    }
  for (guint i = 0; i + 1 < order->len && !rewriting->failed; i += 2)
    {
      /* A step may have taken the scale's id to another place, never its s. */
      TwEnd s = tw_rewriting_get_source (rewriting, order->pdata[i + 1], "s");
      if (s.node)
        hoist_group (rewriting, s, order->pdata[i]);
    }
}

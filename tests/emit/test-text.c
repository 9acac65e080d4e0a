/* The C text builder: lines break within 100 columns, comments cannot be ended from inside. */

#include "export/emit/text.h"

#include <string.h>

static void
assert_columns (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (char **line = lines; *line != NULL; line++)
    {
      g_assert_cmpint (g_utf8_strlen (*line, -1), <=, TW_TEXT_COLUMNS);
      g_assert_false (g_str_has_suffix (*line, " "));
    }
}

static void
test_short_line (void)
{
  TwText *text = tw_text_new ();

  tw_text_line (text, "int x;");
  tw_text_open (text);
  tw_text_line (text, "return %d;", 3);
  tw_text_close (text, ";");
  g_autofree char *out = tw_text_steal (text);
  g_assert_cmpstr (out, ==, "int x;\n{\n  return 3;\n};\n");
}

static void
test_break_at_comma (void)
{
  TwText *text = tw_text_new ();

  tw_text_indent (text, 2);
  tw_text_line (text, "const float v_y = tw_function (%s, %s, %s, %s);",
                "a_rather_long_operand_name_1", "a_rather_long_operand_name_2",
                "a_rather_long_operand_name_3", "last");
  g_autofree char *out = tw_text_steal (text);
  assert_columns (out);
  g_assert_cmpstr (out, ==,
                   "  const float v_y = tw_function (a_rather_long_operand_name_1, "
                   "a_rather_long_operand_name_2,\n"
                   "                                 a_rather_long_operand_name_3, last);\n");
}

static void
test_break_everything (void)
{
  for (int length = 1; length < 60; length++)
    {
      TwText *text = tw_text_new ();
      g_autofree char *word = g_strnfill (length, 'q');

      tw_text_indent (text, 8);
      tw_text_line (text, "if (%s->%s != 0 && (%s || f (%s, \"a , b\") < %s + %s))", word, word,
                    word, word, word, word);
      tw_text_line (text, "total = %s * %s + %s * (%s - %s);", word, word, word, word, word);
      g_autofree char *out = tw_text_steal (text);
      if (length < 24)
        assert_columns (out);
      /* Broken or not, the text is the same but for white space. */
      g_autofree char *joined = g_strdup (out);
      char *to = joined;
      for (const char *c = out; *c != '\0'; c++)
        if (*c != ' ' && *c != '\n')
          *to++ = *c;
      *to = '\0';
      g_assert_nonnull (strstr (joined, "\"a,b\""));
      g_assert_nonnull (strstr (out, "\"a , b\""));
    }
}

static void
test_comment_is_defused (void)
{
  TwText *text = tw_text_new ();

  tw_text_comment (text, "%s",
                   "a */ b /* c \\ d ?"
                   "?/ e \001");
  g_autofree char *out = tw_text_steal (text);
  g_assert_true (g_str_has_prefix (out, "/* a "));
  char *end = strstr (out, "*/");
  g_assert_nonnull (end);
  g_assert_cmpstr (end, ==, "*/\n");
  g_assert_null (strstr (out + 2, "/*"));
  g_assert_null (strchr (out, '\\'));
  g_assert_null (strstr (out, "?"
                              "?"));
}

static void
test_comment_is_filled (void)
{
  TwText *text = tw_text_new ();
  g_autoptr (GString) words = g_string_new (NULL);

  for (int i = 0; i < 60; i++)
    g_string_append_printf (words, "%sword%d", i > 0 ? " " : "", i);
  g_string_append (words, "\n  indented\n");
  for (int i = 0; i < 400; i++)
    g_string_append_c (words, 'x');
  tw_text_indent (text, 6);
  tw_text_comment (text, "%s", words->str);
  tw_text_noted (text, words->str, "int x;");
  tw_text_noted (text, "short", "int x;");
  g_autofree char *out = tw_text_steal (text);
  assert_columns (out);
  g_assert_nonnull (strstr (out, "\n           indented\n"));
  g_assert_nonnull (strstr (out, "      int x; /* short */\n"));
}

static void
test_quote (void)
{
  g_autofree char *quoted = tw_text_quote ("a\"b\\c\n?"
                                           "?=\303\244");

  g_assert_cmpstr (quoted, ==, "\"a\\\"b\\\\c\\012\\?\\?=\\303\\244\"");
}

static void
test_has_word (void)
{
  g_assert_true (tw_text_has_word ("a + m * b", "m"));
  g_assert_true (tw_text_has_word ("m", "m"));
  g_assert_false (tw_text_has_word ("mm + m_ + i_m", "m"));
  g_assert_true (tw_text_has_word ("mm + m", "m"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/short-line", test_short_line);
  g_test_add_func ("/text/break-at-comma", test_break_at_comma);
  g_test_add_func ("/text/break-everything", test_break_everything);
  g_test_add_func ("/text/comment-defused", test_comment_is_defused);
  g_test_add_func ("/text/comment-filled", test_comment_is_filled);
  g_test_add_func ("/text/quote", test_quote);
  g_test_add_func ("/text/has-word", test_has_word);
  return g_test_run ();
}

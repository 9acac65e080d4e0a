/* C text, a line at a time: indentation, breaking at 100 columns, comments.
 *
 * What is printed is meant to be read, so lines break as a person would break them: after a comma
 * or before an operator, the rest aligned with the innermost open parenthesis. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define TW_TEXT_COLUMNS 100

typedef struct _TwText TwText;

TwText *tw_text_new (void);
void tw_text_free (TwText *text);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwText, tw_text_free)
/* The text so far; `text` is freed. g_free. */
char *tw_text_steal (TwText *text);

/* One line at the present indentation, broken where it is too long. An empty format gives an empty
 * line; lines that start with '#' are neither indented nor broken. */
void tw_text_line (TwText *text, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* A line with a comment after it, or before it where both do not fit. */
void tw_text_noted (TwText *text, const char *note, const char *format, ...) G_GNUC_PRINTF (3, 4);
/* "{" and "}" of a block, GNU style: the brace at the present indentation. `tail` after "}". */
void tw_text_open (TwText *text);
void tw_text_close (TwText *text, const char *tail);
/* Changes the indentation by `columns`. */
void tw_text_indent (TwText *text, int columns);
int tw_text_get_indent (const TwText *text);
/* A heading: a comment of one line that fills the width, with an empty line before it. */
void tw_text_section (TwText *text, const char *name);
/* Text that is already formatted (pasted sources, formulas), as it is. */
void tw_text_raw (TwText *text, const char *string);
/* A comment, filled. Newlines in `string` start new lines; a line that starts with a space is not
 * filled. What could end the comment is defused. */
void tw_text_comment (TwText *text, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* A C string literal of `string`, with quotes. g_free. */
char *tw_text_quote (const char *string);
/* TRUE if `word` stands in `text` as an identifier of its own. */
gboolean tw_text_has_word (const char *text, const char *word);
/* `string` in capitals. g_free. */
char *tw_text_upper (const char *string);

G_END_DECLS

/* A dimension expression is kept as a polynomial with rational coefficients over atoms, an atom
 * being a name or a ceil(). Terms are sorted, so the canonical text decides equality. Graphs hold
 * thousands of small ones (mostly one name or one number): those take no detour. */
#include "dimension-private.h"

#include <string.h>

#define MAX_TERMS 32
#define MAX_DEGREE 6

typedef struct
{
  int ref_count;
  char *text;
  TwDim *inner; /* ceil(inner/divisor); NULL: a name */
  gint64 divisor;
} Atom;

typedef struct
{
  gint64 num, den; /* in lowest terms, den > 0 */
  int n_atoms;
  Atom *atoms[MAX_DEGREE]; /* sorted by text */
} Term;

struct _TwDim
{
  int ref_count;
  char *text;
  int n_terms; /* 0: zero */
  Term terms[];
};

G_DEFINE_QUARK (tw - dim - error - quark, tw_dim_error)

/* ---- terms while an expression is put together; `good` turns FALSE where something overflows ----
 */
typedef struct
{
  int n;
  gboolean good;
  Term terms[MAX_TERMS + 1];
} Sum;

static Atom *
atom_ref (Atom *atom)
{
  g_atomic_int_inc (&atom->ref_count);
  return atom;
}

static void
atom_unref (Atom *atom)
{
  if (!g_atomic_int_dec_and_test (&atom->ref_count))
    return;
  g_free (atom->text);
  g_clear_pointer (&atom->inner, tw_dim_unref);
  g_free (atom);
}

static Atom *
atom_new (char *text, TwDim *inner, gint64 divisor)
{
  Atom *atom = g_new (Atom, 1);
  *atom = (Atom){ 1, text, inner, divisor };
  return atom;
}

static gint64
gcd (gint64 a, gint64 b)
{
  while (b != 0)
    {
      gint64 rest = a % b;
      a = b;
      b = rest;
    }
  return a < 0 ? -a : a;
}

static int
compare_monomials (const Term *a, const Term *b)
{
  for (int i = 0; i < a->n_atoms && i < b->n_atoms; i++)
    {
      int order = strcmp (a->atoms[i]->text, b->atoms[i]->text);
      if (order != 0)
        return order;
    }
  return b->n_atoms - a->n_atoms; /* the constant comes last */
}

/* num/den += other. FALSE where 64 bits do not hold it. */
static gboolean
add_rational (Term *term, const Term *other)
{
  gint64 a, b, num, den;
  if (__builtin_mul_overflow (term->num, other->den, &a)
      || __builtin_mul_overflow (other->num, term->den, &b) || __builtin_add_overflow (a, b, &num)
      || __builtin_mul_overflow (term->den, other->den, &den) || num == G_MININT64)
    return FALSE;
  gint64 common = gcd (num, den);
  term->num = num / common;
  term->den = den / common;
  return TRUE;
}

static void
sum_clear (Sum *sum)
{
  for (int i = 0; i < sum->n; i++)
    for (int k = 0; k < sum->terms[i].n_atoms; k++)
      atom_unref (sum->terms[i].atoms[k]);
  sum->n = 0;
}

/* Adds a term whose atoms are taken over. */
static void
sum_add (Sum *sum, const Term *term)
{
  int at = 0;
  while (at < sum->n && compare_monomials (&sum->terms[at], term) < 0)
    at++;
  if (at < sum->n && compare_monomials (&sum->terms[at], term) == 0)
    {
      sum->good &= add_rational (&sum->terms[at], term);
      for (int k = 0; k < term->n_atoms; k++)
        atom_unref (term->atoms[k]);
      if (sum->terms[at].num == 0)
        {
          for (int k = 0; k < sum->terms[at].n_atoms; k++)
            atom_unref (sum->terms[at].atoms[k]);
          sum->n--;
          memmove (&sum->terms[at], &sum->terms[at + 1], (gsize)(sum->n - at) * sizeof (Term));
        }
      return;
    }
  if (term->num == 0 || sum->n == MAX_TERMS)
    {
      sum->good &= term->num == 0;
      for (int k = 0; k < term->n_atoms; k++)
        atom_unref (term->atoms[k]);
      return;
    }
  memmove (&sum->terms[at + 1], &sum->terms[at], (gsize)(sum->n - at) * sizeof (Term));
  sum->terms[at] = *term;
  sum->n++;
}

static void
sum_add_dim (Sum *sum, const TwDim *dim, gint64 factor)
{
  for (int i = 0; i < dim->n_terms; i++)
    {
      Term term = dim->terms[i];
      for (int k = 0; k < term.n_atoms; k++)
        atom_ref (term.atoms[k]);
      sum->good &= !__builtin_mul_overflow (term.num, factor, &term.num);
      sum_add (sum, &term);
    }
}

/* ---- text ---- */
static void
append_coefficient (GString *out, const Term *term)
{
  gint64 size = term->num < 0 ? -term->num : term->num;
  if (term->n_atoms == 0 || size != 1)
    g_string_append_printf (out, "%" G_GINT64_FORMAT "%s", size, term->n_atoms > 0 ? "*" : "");
}

static void
append_term (GString *out, const Term *term)
{
  append_coefficient (out, term);
  for (int k = 0; k < term->n_atoms; k++)
    g_string_append_printf (out, "%s%s", k > 0 ? "*" : "", term->atoms[k]->text);
  if (term->den != 1)
    g_string_append_printf (out, "/%" G_GINT64_FORMAT, term->den);
}

/* Terms with their signs, a positive one first, since the grammar has no sign. */
static char *
make_text (const Term *terms, int n)
{
  GString *out = g_string_new (NULL);
  int first = 0;
  while (first < n && terms[first].num < 0)
    first++;
  if (first == n)
    g_string_append (out, "0");
  else
    append_term (out, &terms[first]);
  for (int i = 0; i < n; i++)
    if (i != first)
      {
        g_string_append (out, terms[i].num < 0 ? " - " : " + ");
        append_term (out, &terms[i]);
      }
  return g_string_free (out, FALSE);
}

/* Takes the terms over. NULL where they were too many or too large. */
static TwDim *
sum_steal (Sum *sum)
{
  if (!sum->good)
    {
      sum_clear (sum);
      return NULL;
    }
  TwDim *dim = g_malloc (sizeof (TwDim) + (gsize)sum->n * sizeof (Term));
  dim->ref_count = 1;
  dim->n_terms = sum->n;
  memcpy (dim->terms, sum->terms, (gsize)sum->n * sizeof (Term));
  dim->text = make_text (dim->terms, dim->n_terms);
  return dim;
}

static TwDim *
new_term (const Term *term)
{
  Sum sum = { .good = TRUE };
  sum_add (&sum, term);
  return sum_steal (&sum);
}

TwDim *
tw_dim_new_integer (gint64 value)
{
  return new_term (&(Term){ .num = value, .den = 1 });
}

TwDim *
tw_dim_new_name (const char *name)
{
  return new_term (&(Term){
      .num = 1, .den = 1, .n_atoms = 1, .atoms = { atom_new (g_strdup (name), NULL, 0) } });
}

TwDim *
tw_dim_ref (TwDim *dim)
{
  g_atomic_int_inc (&dim->ref_count);
  return dim;
}

void
tw_dim_unref (TwDim *dim)
{
  if (!g_atomic_int_dec_and_test (&dim->ref_count))
    return;
  for (int i = 0; i < dim->n_terms; i++)
    for (int k = 0; k < dim->terms[i].n_atoms; k++)
      atom_unref (dim->terms[i].atoms[k]);
  g_free (dim->text);
  g_free (dim);
}

gboolean
tw_dim_equal (const TwDim *a, const TwDim *b)
{
  return a == b || strcmp (a->text, b->text) == 0;
}

gboolean
tw_dim_is_constant (const TwDim *dim, gint64 *value)
{
  if (dim->n_terms > 1
      || (dim->n_terms == 1 && (dim->terms[0].n_atoms > 0 || dim->terms[0].den != 1)))
    return FALSE;
  *value = dim->n_terms == 1 ? dim->terms[0].num : 0;
  return TRUE;
}

const char *
tw_dim_get_text (const TwDim *dim)
{
  return dim->text;
}

/* ---- arithmetic; NULL where the result is too large ---- */
TwDim *
tw_dim_add (const TwDim *a, const TwDim *b, gint64 sign)
{
  Sum sum = { .good = TRUE };
  sum_add_dim (&sum, a, 1);
  sum_add_dim (&sum, b, sign);
  return sum_steal (&sum);
}

static gboolean
multiply_terms (const Term *a, const Term *b, Term *product)
{
  if (a->n_atoms + b->n_atoms > MAX_DEGREE || __builtin_mul_overflow (a->num, b->num, &product->num)
      || __builtin_mul_overflow (a->den, b->den, &product->den) || product->num == G_MININT64)
    return FALSE;
  gint64 common = gcd (product->num, product->den);
  product->num /= common;
  product->den /= common;
  product->n_atoms = 0;
  for (int i = 0, j = 0; i < a->n_atoms || j < b->n_atoms;)
    {
      gboolean left = j == b->n_atoms
                      || (i < a->n_atoms && strcmp (a->atoms[i]->text, b->atoms[j]->text) <= 0);
      product->atoms[product->n_atoms++] = atom_ref (left ? a->atoms[i++] : b->atoms[j++]);
    }
  return TRUE;
}

TwDim *
tw_dim_multiply (const TwDim *a, const TwDim *b)
{
  Sum sum = { .good = TRUE };
  for (int i = 0; i < a->n_terms && sum.good; i++)
    for (int j = 0; j < b->n_terms && sum.good; j++)
      {
        Term product;
        sum.good = multiply_terms (&a->terms[i], &b->terms[j], &product);
        if (sum.good)
          sum_add (&sum, &product);
      }
  return sum_steal (&sum);
}

TwDim *
tw_dim_divide (const TwDim *a, gint64 divisor)
{
  Term inverse = { .num = 1, .den = divisor };
  g_autoptr (TwDim) factor = new_term (&inverse);
  return tw_dim_multiply (a, factor);
}

static gint64
ceil_divide (gint64 value, gint64 divisor)
{
  return value / divisor + (value % divisor > 0);
}

TwDim *
tw_dim_round_up (const TwDim *a, gint64 divisor)
{
  gint64 value;
  if (tw_dim_is_constant (a, &value))
    return tw_dim_new_integer (ceil_divide (value, divisor));
  gboolean exact = TRUE;
  for (int i = 0; i < a->n_terms; i++)
    exact &= a->terms[i].den == 1 && a->terms[i].num % divisor == 0;
  if (exact)
    return tw_dim_divide (a, divisor);
  char *text = g_strdup_printf (a->n_terms > 1 ? "ceil((%s)/%" G_GINT64_FORMAT ")"
                                               : "ceil(%s/%" G_GINT64_FORMAT ")",
                                a->text, divisor);
  Atom *atom = atom_new (text, tw_dim_ref ((TwDim *)a), divisor);
  return new_term (&(Term){ .num = 1, .den = 1, .n_atoms = 1, .atoms = { atom } });
}

/* ---- what an expression is worth ---- */
static gint64
common_denominator (const TwDim *dim)
{
  gint64 common = 1;
  for (int i = 0; i < dim->n_terms; i++)
    {
      gint64 factor = dim->terms[i].den / gcd (common, dim->terms[i].den);
      if (__builtin_mul_overflow (common, factor, &common))
        return 0;
    }
  return common;
}

char *
tw_dim_to_c (const TwDim *dim, const char *prefix)
{
  if (dim->n_terms == 0)
    return g_strdup ("0");
  gint64 common = common_denominator (dim);
  GString *out = g_string_new (NULL);
  for (int i = 0; i < dim->n_terms; i++)
    {
      const Term *term = &dim->terms[i];
      Term scaled = *term;
      if (common > 0)
        scaled.num = term->num * (common / term->den);
      g_string_append (out, term->num < 0 ? (i > 0 ? " - " : "-") : (i > 0 ? " + " : ""));
      append_coefficient (out, &scaled);
      for (int k = 0; k < term->n_atoms; k++)
        {
          const Atom *atom = term->atoms[k];
          if (k > 0)
            g_string_append (out, " * ");
          if (atom->inner == NULL)
            {
              g_string_append_printf (out, "%s%s", prefix, atom->text);
              continue;
            }
          g_autofree char *inner = tw_dim_to_c (atom->inner, prefix);
          g_string_append_printf (out, "((%s + %" G_GINT64_FORMAT ") / %" G_GINT64_FORMAT ")",
                                  inner, atom->divisor - 1, atom->divisor);
        }
    }
  gboolean simple
      = dim->n_terms == 1 && common == 1
        && (dim->terms[0].n_atoms == 0 || (dim->terms[0].n_atoms == 1 && dim->terms[0].num == 1));
  g_string_replace (out, "*", " * ", 0);
  g_string_replace (out, "  *  ", " * ", 0);
  if (!simple)
    {
      g_string_prepend_c (out, '(');
      g_string_append_c (out, ')');
    }
  if (common > 1)
    {
      g_string_prepend_c (out, '(');
      g_string_append_printf (out, " / %" G_GINT64_FORMAT ")", common);
    }
  return g_string_free (out, FALSE);
}

gboolean
tw_dim_evaluate (const TwDim *dim, TwDimLookup lookup, gpointer user_data, gint64 *value,
                 GError **error)
{
  gint64 common = common_denominator (dim);
  gint64 total = 0;
  gboolean fits = common > 0;
  for (int i = 0; i < dim->n_terms && fits; i++)
    {
      const Term *term = &dim->terms[i];
      gint64 product;
      fits = !__builtin_mul_overflow (term->num, common / term->den, &product);
      for (int k = 0; k < term->n_atoms && fits; k++)
        {
          const Atom *atom = term->atoms[k];
          gint64 factor = 0;
          if (atom->inner != NULL)
            {
              if (!tw_dim_evaluate (atom->inner, lookup, user_data, &factor, error))
                return FALSE;
              factor = ceil_divide (factor, atom->divisor);
            }
          else if (!lookup (atom->text, &factor, user_data))
            {
              g_set_error (error, TW_DIM_ERROR, TW_DIM_ERROR_UNBOUND, "%s: %s has no value",
                           dim->text, atom->text);
              return FALSE;
            }
          fits = !__builtin_mul_overflow (product, factor, &product);
        }
      fits = fits && !__builtin_add_overflow (total, product, &total);
    }
  if (fits && total % common != 0)
    {
      g_set_error (error, TW_DIM_ERROR, TW_DIM_ERROR_REMAINDER,
                   "%s leaves a remainder: %" G_GINT64_FORMAT
                   " is no multiple of %" G_GINT64_FORMAT,
                   dim->text, total, common);
      return FALSE;
    }
  if (!fits || total < 0)
    {
      g_set_error (error, TW_DIM_ERROR, TW_DIM_ERROR_RANGE,
                   fits ? "%s is negative" : "%s does not fit 64 bits", dim->text);
      return FALSE;
    }
  *value = total / common;
  return TRUE;
}

TwDim *
tw_dim_substitute (const TwDim *dim, TwDimReplace replace, gpointer user_data)
{
  if (dim->n_terms == 1 && dim->terms[0].n_atoms == 1 && dim->terms[0].num == 1
      && dim->terms[0].den == 1 && dim->terms[0].atoms[0]->inner == NULL)
    {
      TwDim *whole = replace (dim->terms[0].atoms[0]->text, user_data);
      return tw_dim_ref (whole != NULL ? whole : (TwDim *)dim);
    }
  TwDim *sum = tw_dim_new_integer (0);
  for (int i = 0; i < dim->n_terms && sum != NULL; i++)
    {
      TwDim *product = new_term (&(Term){ .num = dim->terms[i].num, .den = dim->terms[i].den });
      for (int k = 0; k < dim->terms[i].n_atoms && product != NULL; k++)
        {
          const Atom *atom = dim->terms[i].atoms[k];
          g_autoptr (TwDim) factor = NULL;
          if (atom->inner != NULL)
            {
              g_autoptr (TwDim) inner = tw_dim_substitute (atom->inner, replace, user_data);
              factor = tw_dim_round_up (inner, atom->divisor);
            }
          else
            {
              TwDim *found = replace (atom->text, user_data);
              factor = found != NULL ? tw_dim_ref (found) : tw_dim_new_name (atom->text);
            }
          TwDim *next = factor != NULL ? tw_dim_multiply (product, factor) : NULL;
          tw_dim_unref (product);
          product = next;
        }
      TwDim *next = product != NULL ? tw_dim_add (sum, product, 1) : NULL;
      g_clear_pointer (&product, tw_dim_unref);
      tw_dim_unref (sum);
      sum = next;
    }
  return sum != NULL ? sum : tw_dim_ref ((TwDim *)dim);
}

static void
collect_names (const TwDim *dim, GPtrArray *names)
{
  for (int i = 0; i < dim->n_terms; i++)
    for (int k = 0; k < dim->terms[i].n_atoms; k++)
      {
        const Atom *atom = dim->terms[i].atoms[k];
        if (atom->inner != NULL)
          collect_names (atom->inner, names);
        else if (!g_ptr_array_find_with_equal_func (names, atom->text, g_str_equal, NULL))
          g_ptr_array_add (names, atom->text);
      }
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

void
tw_dim_foreach_name (const TwDim *dim, void (*func) (const char *name, gpointer user_data),
                     gpointer user_data)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  collect_names (dim, names);
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    func (names->pdata[i], user_data);
}

TwDim *
tw_dim_solve (const TwDim *pattern, const char *name, const TwDim *dim)
{
  gint64 factor = 0;
  Sum rest = { .good = TRUE };
  sum_add_dim (&rest, dim, 1);
  for (int i = 0; i < pattern->n_terms; i++)
    {
      const Term *term = &pattern->terms[i];
      if (term->n_atoms == 1 && term->atoms[0]->inner == NULL && term->den == 1
          && strcmp (term->atoms[0]->text, name) == 0)
        factor = term->num;
      else if (term->n_atoms == 0)
        sum_add (&rest, &(Term){ .num = -term->num, .den = term->den });
      else
        rest.good = FALSE;
    }
  if (factor == 0)
    rest.good = FALSE;
  for (int i = 0; i < rest.n; i++)
    if (rest.good && (rest.terms[i].den != 1 || rest.terms[i].num % factor != 0))
      rest.good = FALSE;
    else if (rest.good)
      rest.terms[i].num /= factor;
  return sum_steal (&rest);
}

/* Panels: what an epilogue sees of a result.
 *
 * A strip is up to 16 rows of an output and a range of its columns; a main loop calls a kernel's
 * function once a strip. It walks the strip in panels of 64 columns. One text serves two builds:
 *
 *   TW_LANES 1    one lane owns the panel; the loop over a row's columns vectorises.
 *   TW_LANES 32   (tests) the lanes of a warp take turns, each with the elements that the
 *                 accumulator fragments of wgmma and mma.sync give it: v[4j+2i+c] of a lane is row
 *                 lane/4 + 8i, column 8j + 2(lane%4) + c. Asking for another lane's gives NaN.
 *
 * Elements past the last column are computed and dropped: they are never loaded, stored or
 * gathered. Statistics are gathered into TW_STATES states a row, merged in one fixed order.
 *
 *   static void
 *   k1 (const TwStrip *s, const void *data)
 *   {
 *     const K1 *k = data;
 *
 *     TW_FOR_PANELS (s, p)
 *       {
 *         TwTile m_x, o_y;
 *         TW_STATE_TABLE (tw_row_sumsq, q);
 *
 *         TW_INIT (tw_row_sumsq, q);
 *         tw_load_tile_bf16 (&p, &k->x, m_x);
 *         TW_FOR_ELEMENTS (&p, r, c)
 *           {
 *             const float y = tw_add (tw_acc (&p, 0, r, c), m_x[r][c]);
 *
 *             o_y[r][c] = y;
 *             TW_GATHER (tw_row_sumsq, q, &p, r, c, y);
 *           }
 *         tw_store_tile_bf16 (&p, &k->y, o_y);
 *         TW_FOR_ROWS (&p, r)
 *           tw_store_f32 (&k->q, p.row + r, p.column / 64, TW_VALUE (tw_row_sumsq, q, r));
 *       }
 *   }
 */
#pragma once

#include "matrix.h"

#define TW_ROWS 16
#define TW_COLUMNS 64
#if TW_LANES == 32
#define TW_STATES 4
#else
#define TW_STATES 16
#endif

typedef float TwTile[TW_ROWS][TW_COLUMNS];
typedef float TwRowValues[TW_ROWS];       /* one a row */
typedef float TwColumnValues[TW_COLUMNS]; /* one a column */

typedef struct
{
  int64_t row, column;  /* of its first element, in the output */
  int64_t columns;      /* of the range */
  int rows;             /* 1 ... 16 */
  int group;            /* the accumulators are a packed pair with so many columns of each in turn;
                           0: they are not */
  const float *acc[2];  /* first element of each accumulator; NULL without a contraction */
  int64_t acc_ld;
} TwStrip;

typedef struct
{
  int64_t row, column;
  int rows, columns;    /* that exist: 1 ... 16, 1 ... 64 */
  int group;
  const float *acc[2];
  int64_t acc_ld;
#if TW_LANES == 32
  float fragment[2][32][32]; /* by accumulator (or half of the packed pair), lane, element */
#endif
} TwPanel;

/* What a main loop calls. */
typedef void TwStripFn (const TwStrip *strip, const void *data);

#if TW_LANES == 32

/* The fragment element of a lane that is (row, column) of a 64-column accumulator, or -1. */
TW_HOST int
tw_fragment_index (int lane, int row, int column)
{
  if (row % 8 != lane / 4 || column % 8 / 2 != lane % 4)
    return -1;
  return column / 8 * 4 + row / 8 * 2 + column % 2;
}

/* The j-th column of a lane, in output columns: of an adjacent pair a lane holds both partners. */
TW_HOST int
tw_lane_column (int group, int lane, int j)
{
  return group == 1 ? 4 * j + lane % 4 : 8 * (j / 2) + 2 * (lane % 4) + j % 2;
}

/* Deals the accumulators to the lanes; what does not exist is NaN. */
TW_HOST void
tw_deal_fragments (TwPanel *p)
{
  for (int a = 0; a < 2; a++)
    for (int lane = 0; lane < 32; lane++)
      for (int e = 0; e < 32; e++)
        p->fragment[a][lane][e] = tw_bits_float (0x7fc00000u);
  for (int a = 0; a < 2; a++)
    for (int r = 0; r < p->rows && p->acc[a] != (const float *) 0; r++)
      for (int c = 0; c < p->columns; c++)
        {
          int at = p->group > 0 ? (int) tw_pair_column (c, p->group, a) : 64 * a + c;
          int lane = r % 8 * 4 + at % 8 / 2;

          p->fragment[at / 64][lane][tw_fragment_index (lane, r, at % 64)]
              = p->acc[a][r * p->acc_ld + c];
        }
}

TW_HOST float
tw_lane_acc (const TwPanel *p, int which, int lane, int r, int c)
{
  int at = p->group > 0 ? (int) tw_pair_column (c, p->group, which) : 64 * which + c;
  int index = tw_fragment_index (lane, r, at % 64);

  return index < 0 ? tw_bits_float (0x7fc00000u) : p->fragment[at / 64][lane][index];
}

#define TW_FOR_ELEMENTS(p, r, c)                                                                   \
  for (int tw_lane = 0; tw_lane < 32; tw_lane++)                                                   \
    for (int r = tw_lane / 4, tw_state __attribute__ ((unused)) = tw_lane % 4; r < (p)->rows;      \
         r += 8)                                                                                   \
      for (int tw_j = 0, c = tw_lane_column ((p)->group, tw_lane, 0); tw_j < 16;                   \
           c = tw_lane_column ((p)->group, tw_lane, ++tw_j))

/* Accumulator `which` (of two: products of two weights, or partners of a packed pair). */
#define tw_acc(p, which, r, c) tw_lane_acc (p, which, tw_lane, r, c)

#else

#define TW_FOR_ELEMENTS(p, r, c)                                                                   \
  for (int r = 0; r < (p)->rows; r++)                                                              \
    for (int tw_first = 0; tw_first < TW_COLUMNS; tw_first += TW_STATES)                           \
      for (int tw_state = 0, c = tw_first; tw_state < TW_STATES; tw_state++, c++)

#define tw_acc(p, which, r, c) ((p)->acc[which][(r) * (p)->acc_ld + (c)])

#endif

TW_HOST TwPanel
tw_panel_at (const TwStrip *s, int64_t offset)
{
  TwPanel p;
  int64_t left = s->columns - offset;

  p.row = s->row;
  p.column = s->column + offset;
  p.rows = s->rows;
  p.columns = (int) (left < TW_COLUMNS ? left : TW_COLUMNS);
  p.group = s->group;
  p.acc_ld = s->acc_ld;
  for (int i = 0; i < 2; i++)
    p.acc[i] = s->acc[i] && left > 0 ? s->acc[i] + offset : (const float *) 0;
#if TW_LANES == 32
  tw_deal_fragments (&p);
#endif
  return p;
}

/* TwPanel p: the strip's panels, from the first column. */
#define TW_FOR_PANELS(strip, p)                                                                    \
  for (TwPanel p = tw_panel_at (strip, 0); p.columns > 0;                                          \
       p = tw_panel_at (strip, p.column - (strip)->column + TW_COLUMNS))

/* The rows of a strip or panel. */
#define TW_FOR_ROWS(p, r) for (int r = 0; r < (p)->rows; r++)

/* Statistic states of a panel's rows, of the block whose functions start with `block`. */
#define TW_STATE_TABLE(block, table) block##_state table[TW_ROWS][TW_STATES]

#define TW_INIT(block, table)                                                                      \
  for (int tw_r = 0; tw_r < TW_ROWS; tw_r++)                                                       \
    for (int tw_s = 0; tw_s < TW_STATES; tw_s++)                                                   \
      table[tw_r][tw_s] = block##_init ()

/* Inside TW_FOR_ELEMENTS. */
#define TW_GATHER(block, table, p, r, c, x)                                                        \
  table[r][tw_state] = (c) < (p)->columns ? block##_gather (table[r][tw_state], x)                 \
                                          : table[r][tw_state]

/* Merges a row's states into its first. */
#define TW_MERGE(block, table, r)                                                                  \
  for (int tw_n = TW_STATES / 2; tw_n > 0; tw_n /= 2)                                              \
    for (int tw_s = 0; tw_s < tw_n; tw_s++)                                                        \
      table[r][tw_s] = block##_merge (table[r][tw_s], table[r][tw_s + tw_n])

/* Of a merged row. */
#define TW_VALUE(block, table, r) block##_value (table[r][0])

/* ---- tiles and vectors from and to memory, one set a storage type ---- */

#define TW_TILE_FUNCTIONS(dtype, element, from, to)                                                \
  /* The panel's elements of a matrix; 0 past its edges. */                                        \
  TW_HOST void tw_load_tile_##dtype (const TwPanel *p, const TwView *v, TwTile tile)               \
  {                                                                                                \
    for (int r = 0; r < p->rows; r++)                                                              \
      {                                                                                            \
        const element *row = (const element *) v->data + (p->row + r) * v->ld + p->column;         \
                                                                                                   \
        if (p->columns == TW_COLUMNS)                                                              \
          for (int c = 0; c < TW_COLUMNS; c++)                                                     \
            tile[r][c] = from (row[c]);                                                            \
        else                                                                                       \
          for (int c = 0; c < TW_COLUMNS; c++)                                                     \
            tile[r][c] = c < p->columns ? from (row[c]) : 0.0f;                                    \
      }                                                                                            \
  }                                                                                                \
  TW_HOST void tw_store_tile_##dtype (const TwPanel *p, const TwView *v, TwTile tile)              \
  {                                                                                                \
    for (int r = 0; r < p->rows; r++)                                                              \
      {                                                                                            \
        element *row = (element *) v->data + (p->row + r) * v->ld + p->column;                     \
                                                                                                   \
        if (p->columns == TW_COLUMNS)                                                              \
          for (int c = 0; c < TW_COLUMNS; c++)                                                     \
            row[c] = to (tile[r][c]);                                                              \
        else                                                                                       \
          for (int c = 0; c < p->columns; c++)                                                     \
            row[c] = to (tile[r][c]);                                                              \
      }                                                                                            \
  }                                                                                                \
  /* Partner `partner` of a packed pair: the view is the pair's tensor. */                         \
  TW_HOST void tw_load_partner_##dtype (const TwPanel *p, const TwView *v, int group, int partner, \
                                        TwTile tile)                                               \
  {                                                                                                \
    for (int r = 0; r < p->rows; r++)                                                              \
      {                                                                                            \
        const element *row = (const element *) v->data + (p->row + r) * v->ld;                     \
                                                                                                   \
        for (int c = 0; c < TW_COLUMNS; c++)                                                       \
          tile[r][c] = c < p->columns ? from (row[tw_pair_column (p->column + c, group, partner)]) \
                                      : 0.0f;                                                      \
      }                                                                                            \
  }                                                                                                \
  TW_HOST void tw_store_partner_##dtype (const TwPanel *p, const TwView *v, int group,             \
                                         int partner, TwTile tile)                                 \
  {                                                                                                \
    for (int r = 0; r < p->rows; r++)                                                              \
      {                                                                                            \
        element *row = (element *) v->data + (p->row + r) * v->ld;                                 \
                                                                                                   \
        for (int c = 0; c < p->columns; c++)                                                       \
          row[tw_pair_column (p->column + c, group, partner)] = to (tile[r][c]);                   \
      }                                                                                            \
  }                                                                                                \
  /* The panel's columns of a vector along the columns. */                                         \
  TW_HOST void tw_load_columns_##dtype (const TwPanel *p, const void *vector,                      \
                                        TwColumnValues values)                                     \
  {                                                                                                \
    const element *first = (const element *) vector + p->column;                                   \
                                                                                                   \
    for (int c = 0; c < TW_COLUMNS; c++)                                                           \
      values[c] = c < p->columns ? from (first[c]) : 0.0f;                                         \
  }                                                                                                \
  TW_HOST void tw_load_partner_columns_##dtype (const TwPanel *p, const void *vector, int group,   \
                                                int partner, TwColumnValues values)                \
  {                                                                                                \
    const element *first = (const element *) vector;                                               \
                                                                                                   \
    for (int c = 0; c < TW_COLUMNS; c++)                                                           \
      values[c]                                                                                    \
          = c < p->columns ? from (first[tw_pair_column (p->column + c, group, partner)]) : 0.0f;  \
  }                                                                                                \
  /* The strip's rows of a vector along the rows. */                                               \
  TW_HOST void tw_load_rows_##dtype (const TwStrip *s, const void *vector, TwRowValues values)     \
  {                                                                                                \
    const element *first = (const element *) vector + s->row;                                      \
                                                                                                   \
    for (int r = 0; r < TW_ROWS; r++)                                                              \
      values[r] = r < s->rows ? from (first[r]) : 0.0f;                                            \
  }                                                                                                \
  TW_HOST void tw_store_rows_##dtype (const TwStrip *s, void *vector, const TwRowValues values)    \
  {                                                                                                \
    element *first = (element *) vector + s->row;                                                  \
                                                                                                   \
    for (int r = 0; r < s->rows; r++)                                                              \
      first[r] = to (values[r]);                                                                   \
  }

#define TW_SAME_F32(x) (x)
TW_TILE_FUNCTIONS (f32, float, TW_SAME_F32, TW_SAME_F32)
TW_TILE_FUNCTIONS (bf16, uint16_t, tw_bf16_to_f32, tw_f32_to_bf16)
TW_TILE_FUNCTIONS (f16, uint16_t, tw_f16_to_f32, tw_f32_to_f16)

/* See strips.h. */

#include "strips.h"

#include "blocks/finish/finish.cuh"
#include "blocks/row_sumsq/row_sumsq.cuh"
#include "blocks/scale_rows/scale_rows.cuh"
#include "blocks/swiglu/swiglu.cuh"
#include "blocks/tile/gemm-cpu.h"
#include "blocks/tile/rows-cpu.h"

#if TW_LANES == 32
#define RUN_STRIPS run_strips_32
#else
#define RUN_STRIPS run_strips_1
#endif

/* y = (acc + x) gamma scale; partial sums of squares of acc + x. */
static void
residual_strip (const TwStrip *s, const void *data)
{
  const StripCase *v = data;
  TwRowValues scale;

  tw_load_rows_f32 (s, v->scale.data, scale);
  TW_FOR_PANELS (s, p)
  {
    TwTile x, y;
    TwColumnValues gamma;
    TW_STATE_TABLE (tw_row_sumsq, q);

    tw_load_tile_f32 (&p, &v->x, x);
    tw_load_columns_f32 (&p, v->gamma.data, gamma);
    TW_INIT (tw_row_sumsq, q);
    TW_FOR_ELEMENTS (&p, r, c)
    {
      const float sum = tw_acc (&p, 0, r, c) + x[r][c];

      TW_GATHER (tw_row_sumsq, q, &p, r, c, sum);
      y[r][c] = tw_scale_rows (sum, scale[r], 1) * gamma[c];
    }
    tw_store_tile_bf16 (&p, &v->y, y);
    TW_FOR_ROWS (&p, r)
    {
      TW_MERGE (tw_row_sumsq, q, r);
      tw_store_f32 (&v->partial, p.row + r, p.column / 64, TW_VALUE (tw_row_sumsq, q, r));
    }
  }
}

/* out = swiglu of both accumulators, which are stored too where they lie in the pair. */
static void
pair_strip (const TwStrip *s, const void *data)
{
  const StripCase *v = data;

  TW_FOR_PANELS (s, p)
  {
    TwTile gate, up, out;

    TW_FOR_ELEMENTS (&p, r, c)
    {
      gate[r][c] = tw_acc (&p, 0, r, c);
      up[r][c] = tw_acc (&p, 1, r, c);
      out[r][c] = tw_swiglu (gate[r][c], up[r][c]);
    }
    tw_store_tile_f32 (&p, &v->out, out);
    if (v->group > 0)
      {
        tw_store_partner_f32 (&p, &v->before, v->group, 0, gate);
        tw_store_partner_f32 (&p, &v->before, v->group, 1, up);
      }
  }
}

/* A norm in two passes over x: y = x rsqrt (mean square + 1e-6) gamma. */
static void
rows_strip (const TwStrip *s, const void *data)
{
  const StripCase *v = data;
  TwRowValues r_scale;
  TW_STATE_TABLE (tw_row_sumsq, q);

  TW_INIT (tw_row_sumsq, q);
  TW_FOR_PANELS (s, p)
  {
    TwTile x;

    tw_load_tile_f32 (&p, &v->x, x);
    TW_FOR_ELEMENTS (&p, r, c) { TW_GATHER (tw_row_sumsq, q, &p, r, c, x[r][c]); }
  }
  TW_FOR_ROWS (s, r)
  {
    TW_MERGE (tw_row_sumsq, q, r);
    tw_store_f32 (&v->partial, s->row + r, 0, TW_VALUE (tw_row_sumsq, q, r));
    r_scale[r] = tw_finish (TW_VALUE (tw_row_sumsq, q, r), (float)v->columns, 1e-6f);
  }
  TW_FOR_PANELS (s, p)
  {
    TwTile x, y;
    TwColumnValues gamma;

    tw_load_tile_f32 (&p, &v->x, x);
    tw_load_columns_f32 (&p, v->gamma.data, gamma);
    TW_FOR_ELEMENTS (&p, r, c) { y[r][c] = tw_scale_rows (x[r][c], r_scale[r], 1) * gamma[c]; }
    tw_store_tile_bf16 (&p, &v->y, y);
  }
}

void
RUN_STRIPS (const StripCase *v, int which)
{
  TwGemm g = { 0 };

  g.rows = v->rows;
  g.columns = v->columns;
  g.depth = v->depth;
  g.dtype = v->dtype;
  g.a = v->a;
  g.b[0] = v->b[0];
  g.b[1] = v->b[1];
  g.n_b = v->n_b;
  g.group = v->group;
  g.threads = v->threads;
  if (which == STRIP_ROWS)
    tw_rows (v->rows, v->columns, v->threads, rows_strip, v);
  else
    tw_gemm (&g, which == STRIP_PAIR ? pair_strip : residual_strip, v);
}

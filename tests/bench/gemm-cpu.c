/* The tile layer's matrix product and OpenBLAS's, in turn, on the same cores: one JSON line a
 * shape.
 *
 * Both work on f32; the tile's also on bf16, which OpenBLAS has not everywhere. A time is printed
 * only for a product that was right. */
#include "../../blocks/tile/gemm-cpu.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void Sgemm (int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                    const float *a, int lda, const float *b, int ldb, float beta, float *c,
                    int ldc);

typedef struct
{
  TwView y;
} Output;

static void
store_strip (const TwStrip *s, const void *data)
{
  const Output *o = (const Output *)data;

  TW_FOR_PANELS (s, p)
  {
    TwTile y;

    TW_FOR_ELEMENTS (&p, r, c)
    y[r][c] = tw_acc (&p, 0, r, c);
    tw_store_tile_f32 (&p, &o->y, y);
  }
}

static double
now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int
compare_doubles (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static double
worst (const float *a, const float *b, size_t n)
{
  double top = 0, size = 0;

  for (size_t i = 0; i < n; i++)
    {
      double d = fabs ((double)a[i] - b[i]);

      top = d > top || d != d ? d : top;
      size += fabs ((double)b[i]);
    }
  return top / (size / (double)n);
}

int
main (int argc, char **argv)
{
  int m = argc > 1 ? atoi (argv[1]) : 1024, n = argc > 2 ? atoi (argv[2]) : 1024;
  int k = argc > 3 ? atoi (argv[3]) : 1024, rounds = argc > 4 ? atoi (argv[4]) : 9;
  void *blas = dlopen ("libopenblas.so.0", RTLD_NOW);
  Sgemm *sgemm = blas != NULL ? (Sgemm *)dlsym (blas, "cblas_sgemm") : NULL;
  char *(*corename) (void)
      = blas != NULL ? (char *(*)(void))dlsym (blas, "openblas_get_corename") : NULL;
  void (*set_threads) (int)
      = blas != NULL ? (void (*) (int))dlsym (blas, "openblas_set_num_threads") : NULL;
  size_t a_count = (size_t)m * k, b_count = (size_t)k * n, y_count = (size_t)m * n;
  float *a = malloc (4 * a_count), *b = malloc (4 * b_count);
  float *y = malloc (4 * y_count), *z = malloc (4 * y_count);
  uint16_t *a16 = malloc (2 * a_count), *b16 = malloc (2 * b_count);
  double times[3][64], middle[3];
  double flop = 2.0 * m * n * k;

  if (sgemm == NULL || set_threads == NULL)
    {
      printf ("{\"skipped\": \"no OpenBLAS\"}\n");
      return 0;
    }
  if (a == NULL || b == NULL || y == NULL || z == NULL || a16 == NULL || b16 == NULL || rounds < 1
      || rounds > 64)
    return 1;
  srand (1);
  for (size_t i = 0; i < a_count; i++)
    a16[i] = tw_f32_to_bf16 (a[i] = (float)rand () / RAND_MAX - 0.5f);
  for (size_t i = 0; i < b_count; i++)
    b16[i] = tw_f32_to_bf16 (b[i] = (float)rand () / RAND_MAX - 0.5f);
  set_threads (tw_gemm_threads (0));

  TwGemm g = { .rows = m, .columns = n, .depth = k, .n_b = 1 };
  Output out = { { y, n } };
  double error[2] = { 0, 0 };
  for (int round = -1; round < rounds; round++)
    {
      double t[4];

      t[0] = now ();
      sgemm (101, 111, 111, m, n, k, 1.0f, a, k, b, n, 0.0f, z, n);
      t[1] = now ();
      g.dtype = TW_BF16;
      g.a = (TwView){ a16, k };
      g.b[0] = (TwView){ b16, n };
      tw_gemm (&g, store_strip, &out);
      t[2] = now ();
      if (round < 0)
        error[1] = worst (y, z, y_count);
      double begin = now ();
      g.dtype = TW_F32;
      g.a = (TwView){ a, k };
      g.b[0] = (TwView){ b, n };
      tw_gemm (&g, store_strip, &out);
      t[3] = now () - begin;
      if (round < 0)
        error[0] = worst (y, z, y_count);
      else
        {
          times[0][round] = t[1] - t[0];
          times[1][round] = t[2] - t[1];
          times[2][round] = t[3];
        }
    }
  if (!(error[0] < 1e-3 && error[1] < 1e-1))
    {
      fprintf (stderr, "wrong product: %g %g\n", error[0], error[1]);
      return 1;
    }
  for (int i = 0; i < 3; i++)
    {
      qsort (times[i], rounds, sizeof (double), compare_doubles);
      middle[i] = times[i][rounds / 2];
    }
  printf ("{\"m\": %d, \"n\": %d, \"k\": %d, \"core\": \"%s\", \"threads\": %d, "
          "\"openblas_gflops\": %.1f, \"bf16_gflops\": %.1f, \"f32_gflops\": %.1f}\n",
          m, n, k, corename != NULL ? corename () : "?", tw_gemm_threads (0),
          flop / middle[0] * 1e-9, flop / middle[1] * 1e-9, flop / middle[2] * 1e-9);
  return 0;
}

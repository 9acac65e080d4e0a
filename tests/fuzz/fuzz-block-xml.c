/* Mutated descriptors: read, or refused with a message; what was read is complete. */
#include "composer/block.h"
#include "config.h"
#include "fuzz.h"

#include <libxml/parser.h>
#include <stdio.h>
#include <stdlib.h>

static void
require (gboolean holds, const char *what, const GString *text)
{
  if (holds)
    return;
  fprintf (stderr, "%s:\n%s\n", what, text->str);
  abort ();
}

static void
check_block (const TwBlock *block, const GString *text)
{
  require (block->id != NULL, "no id", text);
  gboolean computes = block->kind != TW_KIND_SOURCE && block->kind != TW_KIND_SINK
                      && block->kind != TW_KIND_COMPOSITE;
  require (!computes || block->formula != NULL, "no formula", text);
  require (block->kind != TW_KIND_COMPOSITE || block->body != NULL, "no body", text);
  for (int p = 0; p < block->n_ports; p++)
    {
      const TwPortSpec *port = &block->ports[p];
      require (port->id != NULL && port->dtype != NULL, "port", text);
      require (tw_block_get_port (block, port->id) == port, "two ports of one id", text);
      require (port->n_dims >= -1 && port->n_dims <= 3, "dimensions", text);
      for (int d = 0; d < port->n_dims; d++)
        {
          g_autoptr (TwDim) dim = tw_dim_parse (port->dims[d], NULL);
          require (dim != NULL, "a dimension that does not parse", text);
        }
      require (port->when_param == NULL || tw_block_get_param (block, port->when_param) != NULL,
               "condition on no parameter", text);
    }
  for (int i = 0; i < block->n_params; i++)
    require (tw_block_get_param (block, block->params[i].id) == &block->params[i],
             "two parameters of one id", text);
  for (int i = 0; i < block->n_laws; i++)
    for (int k = 0; block->laws[i].inputs != NULL && block->laws[i].inputs[k] != NULL; k++)
      require (tw_block_get_operand (block, block->laws[i].inputs[k]) >= 0, "law of no operand",
               text);
}

int
main (int argc, char **argv)
{
  Fuzz fuzz;
  if (!fuzz_init (&fuzz, &argc, &argv))
    return 1;
  fuzz_add_files (&fuzz, TW_SOURCE_ROOT "/blocks", "block.xml");
  gint64 refused = 0, good = 0, failed_allocations = 0;
  for (gint64 i = 0; i < fuzz.count; i++)
    {
      GString *text = fuzz_next (&fuzz, TRUE);
      g_autoptr (GError) error = NULL;
      failed_allocations += fuzz_parse (&fuzz, text);
      g_autoptr (TwBlock) block = tw_block_parse (text->str, text->len, TW_SOURCE_ROOT, &error);
      require ((block != NULL) == (error == NULL), "block and error", text);
      if (block != NULL)
        check_block (block, text);
      else
        require (error->message[0] != '\0', "no message", text);
      good += block != NULL;
      refused += block == NULL;
      g_string_free (text, TRUE);
    }
  printf ("block-xml: seed %u, %" G_GINT64_FORMAT " cases: %" G_GINT64_FORMAT
          " refused, %" G_GINT64_FORMAT " good",
          fuzz.seed, fuzz.count, refused, good);
  if (fuzz.oom)
    printf (", %" G_GINT64_FORMAT " with failed allocations", failed_allocations);
  printf ("\n");
  gboolean useful
      = fuzz.count < 500 || (good > 0 && refused > 0 && (!fuzz.oom || failed_allocations > 0));
  fuzz_clear (&fuzz);
  return useful ? 0 : 1;
}

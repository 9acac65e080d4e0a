/* Records of nodes, links and dimensions: their life. */
#include "graph-private.h"

#include <string.h>

void
tw_set_text (const char **target, const char *value)
{
  char *copy = g_strdup (value);
  g_free ((char *)*target);
  *target = copy;
}

void
tw_extra_clear (TwExtra *extra)
{
  g_free (extra->before);
  g_free (extra->attributes);
  g_free (extra->inside);
  *extra = (TwExtra){ 0 };
}

void
tw_extra_copy (TwExtra *to, const TwExtra *from)
{
  *to = (TwExtra){ g_strdup (from->before), g_strdup (from->attributes), g_strdup (from->inside) };
}

TwNodeRecord *
tw_node_record_new (const char *id, const char *block)
{
  TwNodeRecord *record = g_new0 (TwNodeRecord, 1);
  record->ref_count = 1;
  record->view.id = g_strdup (id);
  record->view.block = g_strdup (block);
  return record;
}

TwNodeRecord *
tw_node_record_copy (const TwNodeRecord *record)
{
  const TwNode *view = &record->view;
  TwNodeRecord *copy = tw_node_record_new (view->id, view->block);
  copy->view.label = g_strdup (view->label);
  copy->view.origin = g_strdup (view->origin);
  copy->view.placed = view->placed;
  copy->view.x = view->x;
  copy->view.y = view->y;
  copy->view.line = view->line;
  TwParam *params = g_new0 (TwParam, view->n_params + 1);
  copy->param_extras = g_new0 (TwExtra, view->n_params + 1);
  for (int i = 0; i < view->n_params; i++)
    {
      params[i] = (TwParam){ g_strdup (view->params[i].name), g_strdup (view->params[i].value) };
      tw_extra_copy (&copy->param_extras[i], &record->param_extras[i]);
    }
  copy->view.params = params;
  copy->view.n_params = view->n_params;
  tw_extra_copy (&copy->extra, &record->extra);
  tw_extra_copy (&copy->place, &record->place);
  return copy;
}

void
tw_node_record_unref (TwNodeRecord *record)
{
  if (--record->ref_count > 0)
    return;
  TwNode *view = &record->view;
  g_free ((char *)view->id);
  g_free ((char *)view->block);
  g_free ((char *)view->label);
  g_free ((char *)view->origin);
  for (int i = 0; i < view->n_params; i++)
    {
      g_free ((char *)view->params[i].name);
      g_free ((char *)view->params[i].value);
      tw_extra_clear (&record->param_extras[i]);
    }
  g_free ((TwParam *)view->params);
  g_free (record->param_extras);
  tw_extra_clear (&record->extra);
  tw_extra_clear (&record->place);
  g_free (record);
}

void
tw_node_record_set_param (TwNodeRecord *record, const char *name, const char *value)
{
  TwNode *view = &record->view;
  TwParam *params = (TwParam *)view->params;
  int at = 0;
  while (at < view->n_params && strcmp (params[at].name, name) != 0)
    at++;
  if (at < view->n_params && value != NULL)
    tw_set_text (&params[at].value, value);
  else if (at < view->n_params)
    {
      gsize after = (gsize)(view->n_params - at - 1);
      g_free ((char *)params[at].name);
      g_free ((char *)params[at].value);
      tw_extra_clear (&record->param_extras[at]);
      memmove (&params[at], &params[at + 1], after * sizeof *params);
      memmove (&record->param_extras[at], &record->param_extras[at + 1], after * sizeof (TwExtra));
      view->n_params--;
    }
  else if (value != NULL)
    {
      params = g_renew (TwParam, params, at + 1);
      record->param_extras = g_renew (TwExtra, record->param_extras, at + 1);
      params[at] = (TwParam){ g_strdup (name), g_strdup (value) };
      record->param_extras[at] = (TwExtra){ 0 };
      view->params = params;
      view->n_params++;
    }
}

TwLinkRecord *
tw_link_record_new (const char *from_node, const char *from_port, const char *to_node,
                    const char *to_port)
{
  TwLinkRecord *record = g_new0 (TwLinkRecord, 1);
  record->ref_count = 1;
  record->view.from_node = g_strdup (from_node);
  record->view.from_port = g_strdup (from_port);
  record->view.to_node = g_strdup (to_node);
  record->view.to_port = g_strdup (to_port);
  return record;
}

static void
clear_owed (TwLinkRecord *record)
{
  TwLink *view = &record->view;
  for (int i = 0; i < view->n_owed; i++)
    {
      g_free ((char *)view->owed[i].node);
      g_free ((char *)view->owed[i].port);
      tw_extra_clear (&record->owed_extras[i]);
    }
  g_free ((TwOwed *)view->owed);
  g_free (record->owed_extras);
}

void
tw_link_record_set_owed (TwLinkRecord *record, const TwOwed *owed, int n_owed)
{
  TwOwed *copy = n_owed > 0 ? g_new0 (TwOwed, n_owed) : NULL;
  for (int i = 0; i < n_owed; i++)
    {
      copy[i] = owed[i];
      copy[i].node = g_strdup (owed[i].node);
      copy[i].port = g_strdup (owed[i].port);
    }
  clear_owed (record);
  record->owed_extras = n_owed > 0 ? g_new0 (TwExtra, n_owed) : NULL;
  record->view.owed = copy;
  record->view.n_owed = n_owed;
}

TwLinkRecord *
tw_link_record_copy (const TwLinkRecord *record)
{
  const TwLink *view = &record->view;
  TwLinkRecord *copy
      = tw_link_record_new (view->from_node, view->from_port, view->to_node, view->to_port);
  copy->view.fuse_required = view->fuse_required;
  copy->view.line = view->line;
  copy->view.shift_mu_node = g_strdup (view->shift_mu_node);
  copy->view.shift_mu_port = g_strdup (view->shift_mu_port);
  copy->view.shift_v_node = g_strdup (view->shift_v_node);
  copy->view.shift_v_port = g_strdup (view->shift_v_port);
  tw_link_record_set_owed (copy, view->owed, view->n_owed);
  for (int i = 0; i < view->n_owed; i++)
    tw_extra_copy (&copy->owed_extras[i], &record->owed_extras[i]);
  tw_extra_copy (&copy->extra, &record->extra);
  tw_extra_copy (&copy->shift, &record->shift);
  return copy;
}

void
tw_link_record_unref (TwLinkRecord *record)
{
  if (--record->ref_count > 0)
    return;
  TwLink *view = &record->view;
  g_free ((char *)view->from_node);
  g_free ((char *)view->from_port);
  g_free ((char *)view->to_node);
  g_free ((char *)view->to_port);
  g_free ((char *)view->shift_mu_node);
  g_free ((char *)view->shift_mu_port);
  g_free ((char *)view->shift_v_node);
  g_free ((char *)view->shift_v_port);
  clear_owed (record);
  tw_extra_clear (&record->extra);
  tw_extra_clear (&record->shift);
  g_free (record);
}

TwDimensionRecord *
tw_dimension_record_new (const TwDimension *dimension)
{
  TwDimensionRecord *record = g_new0 (TwDimensionRecord, 1);
  record->ref_count = 1;
  record->view = *dimension;
  record->view.name = g_strdup (dimension->name);
  return record;
}

void
tw_dimension_record_unref (TwDimensionRecord *record)
{
  if (--record->ref_count > 0)
    return;
  g_free ((char *)record->view.name);
  tw_extra_clear (&record->extra);
  g_free (record);
}

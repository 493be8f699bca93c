import { type Annotation, createAnnotation, deleteAnnotation, listAnnotations } from '../../../domain/analytics/annotations/annotation.ts'
import { windowFaults } from '../../../domain/analytics/figures/question.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import { invalidFields } from '../../../domain/kernel/refusal.ts'
import { inTransaction, onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'

const shown = ({ id, at, text, kind, resource, created_at }: Annotation) => ({
  object: 'analytics_annotation' as const,
  id,
  url: `/v4/analytics/annotations/${id}`,
  at,
  text,
  kind,
  is_automatic: resource !== null,
  resource,
  created_at,
})

export const v4ListAnalyticsAnnotations = onPool('v4ListAnalyticsAnnotations', async ({ query, environment, db }) => {
  const { from, to, limit, starting_after: after } = query
  const faults = windowFaults({ from: from ?? 0, to: to ?? Number.POSITIVE_INFINITY })
  if (faults.length > 0) throw invalidFields(faults)
  const { rows, restarted } = await listAnnotations(db, environment, { from, to, limit, after })
  return { body: cursorPage({ url: '/v4/analytics/annotations', rows, limit, item: shown }), headers: restartedHeader(restarted) }
})

export const v4CreateAnalyticsAnnotation = inTransaction('v4CreateAnalyticsAnnotation', async ({ body, environment, trail, tx }) => {
  const made = shown(await createAnnotation(tx, environment, body))
  await audit(tx, trail, { resource: 'analytics_annotation', id: made.id, after: made })
  return { body: made }
})

export const v4DeleteAnalyticsAnnotation = inTransaction('v4DeleteAnalyticsAnnotation', async ({ path, environment, trail, tx }) => {
  const before = await deleteAnnotation(tx, environment, path.annotation_id)
  await audit(tx, trail, { resource: 'analytics_annotation', id: before.id, before: shown(before) })
  return { body: undefined }
})

/**
 * The entries of the audit log that annotate by themselves. The same condition stands in the index `audit_log_that_annotates`, by which they
 * are found without reading the rest of the log.
 */
export const ANNOTATES = `(
  (resource = 'experiment' and before ->> 'started_at' is null and after ->> 'started_at' is not null)
  or (resource = 'experiment' and before ->> 'finished_at' is null and after ->> 'finished_at' is not null)
  or (resource = 'product' and before is not null and after is not null)
  or (resource = 'screen' and before ->> 'status' <> 'published' and after ->> 'status' = 'published'))`

type Shown = Record<string, unknown>
/** An object before and after a change, as the API shows it. */
export type ObjectChange = { object: string; object_id: string; before: Shown; after: Shown }

/** The changed fields of a product, with their values before and after the change. */
function fieldChanges({ before, after }: Pick<ObjectChange, 'before' | 'after'>): string {
  const shown = (value: unknown) => (value === null || value === undefined ? 'none' : String(value))
  return Object.keys(after)
    .filter(field => field !== 'updated_at' && before[field] !== after[field])
    .map(field => `${field} from ${shown(before[field])} to ${shown(after[field])}`)
    .join(', ')
}

/** The annotation of a change: its kind and its text. */
export function annotationOf(change: ObjectChange): { kind: string; text: string } {
  const { object, object_id, before, after } = change
  if (object === 'product') return { kind: 'product_changed', text: `Product ${object_id}: ${fieldChanges(change)}` }
  if (object === 'screen') return { kind: 'screen_published', text: `Screen ${after.name} published` }
  const isStart = before.started_at === null && after.started_at !== null
  return isStart
    ? { kind: 'experiment_started', text: `Experiment ${after.name} started` }
    : { kind: 'experiment_finished', text: `Experiment ${after.name} finished` }
}

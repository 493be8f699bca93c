import type { UseSource } from './uses.ts'

/**
 * The objects with a list of conditions one of which names something: in SQL an array with one condition, such as `[{"metric": "entitlement:pro"}]`.
 * `blocking`: in these statuses it prevents the deletion; `ended`: in this one it counts for nothing.
 */
export const conditionUses = (
  object: 'experiment' | 'remote_configuration',
  condition: string,
  { blocking, ended }: { blocking?: string; ended?: string } = {},
): UseSource => ({
  object,
  scanned: true,
  statement:
    rows => `select c.id, c.name, c.status, '[]'::jsonb as parts, ${blocking ? `c.status in (${blocking})` : 'false'} as blocks from ${rows} c
    where c.environment = $1 and c.segmentation_conditions @> ${condition}${ended ? ` and c.status <> ${ended}` : ''}`,
})

const ENTITLEMENT = `jsonb_build_array(jsonb_build_object('metric', 'entitlement:' || $2::text))`

/** What asks in a condition whether somebody has the entitlement. A condition on a deleted one is never true, so it prevents no deletion. */
export const CONDITIONS_ON_ENTITLEMENT: readonly UseSource[] = [
  {
    object: 'segment',
    scanned: true,
    statement: rows => `select s.id, s.name, null::text as status, '[]'::jsonb as parts, false as blocks from ${rows} s
      where s.environment = $1 and s.conditions @> ${ENTITLEMENT}`,
  },
  conditionUses('remote_configuration', ENTITLEMENT),
  conditionUses('experiment', ENTITLEMENT),
]

/** The remote configurations with a key of the type whose value is the id $2 or a list with it. */
export const payloadUses = (type: 'Products' | 'Screens'): UseSource => ({
  object: 'remote_configuration',
  scanned: true,
  statement: rows => `
    select c.id, c.name, c.status, k.parts, false as blocks from ${rows} c
    cross join lateral (
      select jsonb_agg(jsonb_build_object('id', m.key, 'name', null) order by m.key) as parts from json_each_text(c.payload_mapping) m
      where m.value = '${type}' and (c.payload -> m.key)::jsonb @> to_jsonb($2::text)) k
    where c.environment = $1 and k.parts is not null`,
})

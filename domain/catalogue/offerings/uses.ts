import type { UseSource } from '../../kernel/references/uses.ts'

/** The experiments with a group that has a copy of the offering. The copy is its own, so it prevents nothing. */
export const OFFERING_USES: readonly UseSource[] = [
  {
    object: 'experiment',
    scanned: false,
    statement: experiments => `
      select e.id, e.name, e.status, jsonb_agg(jsonb_build_object('id', g.id, 'name', g.name) order by g.n) as parts, false as blocks
      from offerings o
      join experiment_groups g on g.environment = $1 and g.id = o.variant_of
      join ${experiments} e on e.environment = $1 and e.id = g.experiment_id
      where o.environment = $1 and o.copied_from = $2 group by e.environment, e.id`,
  },
]

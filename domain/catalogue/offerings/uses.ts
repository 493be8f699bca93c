import { rowById, type UseSource } from '../../kernel/references/uses.ts'

/** The experiments with a group that has a copy of the offering. The copy is its own, so it prevents nothing. */
export const OFFERING_USES: readonly UseSource[] = [
  {
    object: 'experiment',
    scanned: false,
    statement: experiments => `
      select e.id, e.name, e.status, jsonb_agg(jsonb_build_object('id', g.id, 'name', g.name) order by g.n) as parts, false as blocks
      from (select variant_of from offerings where environment = $1 and copied_from >= $2 and copied_from <= $2
        order by environment, copied_from offset 0) o
      cross join lateral (${rowById('experiment_groups', 'o.variant_of')}) g
      cross join lateral (${rowById(experiments, 'g.experiment_id')}) e
      group by e.environment, e.id, e.name, e.status`,
  },
]

import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import { findNamedLineages, type NamedLineage } from '../../domain/purchases/find-lineages.ts'
import type { Pool } from '../../store/connect.ts'
import { CliError } from '../failure.ts'

const described = ({ id, name, platform, kind }: NamedLineage) => `${id} (${platform}, ${kind}, ${name})`

/** The only lineage that is meant by a row number or a name of the store's. Throws when there is none, or more than one. */
export async function oneLineage(pool: Pool, project: number, kind: EnvironmentKind | null, given: string): Promise<NamedLineage> {
  const [found, ...others] = await findNamedLineages(pool, project, kind, given)
  if (!found) throw new CliError(`project ${project} has no lineage ${given}${kind === null ? '' : ` in ${kind}`}`)
  if (others.length === 0) return found
  throw new CliError(`${given} names ${[found, ...others].map(described).join(' and ')}: give the other one of number and name`)
}

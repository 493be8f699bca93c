import type { Db } from '../../../store/connect.ts'
import { LEVELS, type Level, type ReadEntity } from './spend.ts'

export type Entity = ReadEntity & { level: number }
/** The texts of a user's first known attribution: each is an id of Apple or a name. */
export type Attributed = { campaign: string | null; ad_set: string | null; ad: string | null }

export type Entities = {
  find(level: Level, id: string): Entity | undefined
  /** The entity of the level that the attribution names, by id, else by name. A name that several have names none. */
  named(level: Level, attributed: Attributed): Entity | undefined
}

/** `ids`: of the level. `attributed`: whose texts are ids or names. */
type Needed = { ids: readonly string[]; attributed: readonly Attributed[] }

const COLUMNS = 'e.level, e.id, e.campaign_id, e.ad_group_id, e.org_id, e.name, e.match_type, e.status, e.delivery'

/** The entities of the level that are needed, and those above them. An account has many more that nobody has come from. */
export async function loadEntities(db: Db, integration: number, level: Level, { ids, attributed }: Needed): Promise<Entities> {
  const texts = new Set(attributed.flatMap(({ campaign, ad_set, ad }) => [campaign, ad_set, ad]).filter(text => text !== null))
  const { rows } = await db.query<Entity>(
    `with needed as materialized (
       select ${COLUMNS} from apple_ads_entities e
       where e.integration = $1 and (e.level = $2 and e.id = any ($3) or e.level <= $2 and (e.id = any ($4) or e.name = any ($4)))
     )
     select ${COLUMNS} from needed e
     union select ${COLUMNS} from apple_ads_entities e where e.integration = $1 and e.level = 0 and e.id in (select campaign_id from needed)
     union select ${COLUMNS} from apple_ads_entities e
       where e.integration = $1 and $2 > 1 and e.level = 1 and e.id in (select ad_group_id from needed)`,
    [integration, LEVELS[level], ids, [...texts]],
  )
  const byId = new Map(rows.map(row => [`${row.level} ${row.id}`, row]))
  const parentOf = ({ level: own, campaign_id, ad_group_id }: Entity) => (own === 0 ? '' : own === 1 ? campaign_id : (ad_group_id ?? ''))
  const byName = Map.groupBy(rows, row => JSON.stringify([row.level, parentOf(row), row.name]))
  const find = (of: Level, id: string) => byId.get(`${LEVELS[of]} ${id}`)
  const within = (of: Level, parent: string, text: string | null): Entity | undefined => {
    if (text === null) return undefined
    const found = find(of, text)
    if (found && parentOf(found) === parent) return found
    const named = byName.get(JSON.stringify([LEVELS[of], parent, text])) ?? []
    return named.length === 1 ? named[0] : undefined
  }
  return {
    find,
    named(of, { campaign, ad_set, ad }) {
      const ofCampaign = within('campaigns', '', campaign)
      if (of === 'campaigns' || !ofCampaign) return ofCampaign
      const group = within('groups', ofCampaign.id, ad_set)
      return of === 'groups' || !group ? group : within('keywords', group.id, ad)
    },
  }
}

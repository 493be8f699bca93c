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

/** The entities of the level and of those above it. */
export async function loadEntities(db: Db, integration: number, level: Level): Promise<Entities> {
  const { rows } = await db.query<Entity>(
    `select level, id, campaign_id, ad_group_id, org_id, name, match_type, status, delivery from apple_ads_entities
     where integration = $1 and level <= $2`,
    [integration, LEVELS[level]],
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

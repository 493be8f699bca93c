import type { Tx } from '../../../store/connect.ts'
import { slugsSql } from '../../events/catalogue.ts'
import type { Environment } from '../../kernel/environment.ts'
import { flatMapInSteps } from '../../kernel/in-steps.ts'
import {
  isSubscriptionFact,
  NOT_SUPERSEDED,
  POSTED_COLUMNS,
  POSTED_FACTS,
  type PostedRow,
  postedFact,
  postedOf,
  TRANSACTION_FACTS,
} from '../../purchases/subscriptions/posted.ts'
import { POSTED_PRICE, REFUND_FACTS } from '../../purchases/subscriptions/posted-price.ts'
import { foldedPurchases } from '../../purchases/subscriptions/recorded.ts'
import type { Origin, PostedTransaction, ScreenSeen, UserHistory } from './user-history.ts'

const epoch = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

const USERS = `
  select u.no, u.id, ${epoch('u.created_at')} as created, u.first_platform as platform, u.first_country as country,
    u.first_app_version as app_version, u.first_locale as locale, u.media_source as media, u.campaign, u.ad_set, u.ad
  from unnest($2::bigint[]) k(no) cross join lateral (
    select * from users where no = k.no limit 1) u where u.environment = $1`

const EVENTS = `
  select ${POSTED_COLUMNS}, (${POSTED_PRICE})::text as price, e.currency, e.proceeds::text, e.price_usd::text, e.proceeds_usd::text, e.product_id, e.screen_id,
    e.country, e.app_version, e.locale, e.known_country, e.known_app_version, e.known_locale
  from unnest($2::text[]) k(user_id) cross join lateral ${postedOf('k.user_id', POSTED_FACTS)} e
  where ${NOT_SUPERSEDED}
  order by e.happened_at, e.id`

const transactionFacts = new Set<string>([...TRANSACTION_FACTS, ...REFUND_FACTS])

/** The names of the events that say that a user saw a screen. */
const SCREEN_EVENTS = ['screen_shown', 'screen_interacted'] as const
const screenEvents = new Set<string>(SCREEN_EVENTS)
export const isScreenEvent = (name: string): boolean => screenEvents.has(name)

/** In SQL: the screen of an event `e`. */
export const SCREEN_OF = `coalesce(e.screen_id, e.properties ->> 'screen_id')`

// As in `postedOf`, an ordered range for plans without statistics.
const SCREENS = `
  select e.user_id, ${epoch('e.happened_at')} as at, ${SCREEN_OF} as screen
  from unnest($2::text[]) k(user_id) cross join lateral (
    select * from events where environment = $1 and user_id >= k.user_id and user_id <= k.user_id and name in (${slugsSql(SCREEN_EVENTS)})
    order by user_id, happened_at) e
  where ${SCREEN_OF} is not null`

/** Reads everything that is known of the users, in four statements. A user who does not exist any more is left out. The users are locked. */
export async function readHistories(tx: Tx, environment: Environment, numbers: number[]): Promise<UserHistory[]> {
  const { rows: users } = await tx.query<Origin>({ name: 'fold-users', text: USERS, values: [environment, numbers] })
  const ids = users.map(({ id }) => id)
  const values = [environment, ids]
  const purchases = Map.groupBy(await foldedPurchases(tx, environment, ids), ({ user_id }) => user_id!)
  const { rows: events } = await tx.query<PostedRow & PostedTransaction>({ name: 'fold-events', text: EVENTS, values })
  const { rows: seen } = await tx.query<ScreenSeen & { user_id: string }>({ name: 'fold-screens', text: SCREENS, values })
  const posted = Map.groupBy(await flatMapInSteps(events, postedFact), ({ user_id }) => user_id)
  const screens = Map.groupBy(seen, ({ user_id }) => user_id)
  return users.map(user => {
    const events = posted.get(user.id) ?? []
    return {
      user,
      purchases: purchases.get(user.id) ?? [],
      posted: events.filter(isSubscriptionFact),
      transactions: events.filter(({ name }) => transactionFacts.has(name)),
      screens: screens.get(user.id) ?? [],
    }
  })
}

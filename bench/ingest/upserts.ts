import type { Entry } from '../../domain/events/entry.ts'
import { isoMicros } from '../../domain/kernel/time/instant.ts'
import { arrayOf } from '../../store/array-literal.ts'

const LAST_KNOWN = ['platform', 'device_id', 'device_model', 'os_version', 'locale', 'country', 'app_version', 'sdk_version'] as const
const BEGINS = new Set(['trial_started', 'trial_converted', 'subscription_started', 'subscription_renewed'])
const PAYMENTS = new Set([...BEGINS, 'in_app_purchase'])

/** The tables that an application would keep beside its events, and the users of the product in the first one. */
export const KEPT_TABLES = `
  create table by_hand_users (
    environment int not null, user_id text collate "C" not null, ${LAST_KNOWN.map(name => `${name} text`).join(', ')}, last_seen_at timestamptz not null,
    primary key (environment, user_id)
  ) with (fillfactor = 80);
  insert into by_hand_users select environment, id, ${LAST_KNOWN.join(', ')}, last_seen_at from users;
  create table by_hand_subscriptions (
    environment int not null, user_id text collate "C" not null, platform text not null, lineage text not null, state text not null,
    auto_renewing boolean not null, begins_at timestamptz not null, expires_at timestamptz, primary key (environment, user_id, platform, lineage)
  ) with (fillfactor = 80);
  create table by_hand_sums (
    environment int not null, user_id text collate "C" not null, payments int not null, net_usd numeric not null, primary key (environment, user_id)
  ) with (fillfactor = 80)`

/** A statement that keeps one of the tables: $1 is the environment, then the columns of what a batch changes, by key. */
type Upsert = { name: string; text: string; columns: (entries: Entry[]) => (string | null)[] }

/** A row of what changes: by key, in the order in which every transaction locks. */
const sorted = <Row>(rows: Map<string, Row>): Row[] => [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)

const ofUsers = (entries: Entry[]) => entries.filter((entry): entry is Entry & { user: string } => entry.user !== null)

const CHANGED = (name: string) => `coalesce(excluded.${name}, u.${name})`
const SEEN = 'greatest(excluded.last_seen_at, u.last_seen_at)'

export const keepUsers: Upsert = {
  name: 'users',
  // A user about whom nothing new is known is not written.
  text: `insert into by_hand_users as u (environment, user_id, last_seen_at, ${LAST_KNOWN.join(', ')})
    select $1, * from unnest($2::text[], $3::timestamptz[], ${LAST_KNOWN.map((_, i) => `$${i + 4}::text[]`).join(', ')})
    on conflict (environment, user_id) do update
      set last_seen_at = ${SEEN}, ${LAST_KNOWN.map(name => `${name} = ${CHANGED(name)}`).join(', ')}
      where (u.last_seen_at, ${LAST_KNOWN.map(name => `u.${name}`).join(', ')}) is distinct from (${SEEN}, ${LAST_KNOWN.map(CHANGED).join(', ')})`,
  columns(entries) {
    const rows = new Map<string, { user: string; at: number; known: (string | undefined)[] }>()
    for (const { user, at, item } of ofUsers(entries)) {
      const { platform, device, app } = item
      const values = [
        platform,
        device?.id,
        device?.model,
        device?.os_version,
        device?.locale,
        device?.country,
        app?.version,
        app?.sdk_version,
      ]
      const before = rows.get(user)
      rows.set(user, { user, at: Math.max(at, before?.at ?? 0), known: values.map((value, i) => value ?? before?.known[i]) })
    }
    const users = sorted(rows)
    const known = LAST_KNOWN.map((_, i) => arrayOf(users, row => row.known[i] ?? null))
    return [arrayOf(users, row => row.user), arrayOf(users, row => isoMicros(row.at)), ...known]
  },
}

export const keepSubscriptions: Upsert = {
  name: 'subscriptions',
  text: `insert into by_hand_subscriptions as s (environment, user_id, platform, lineage, state, auto_renewing, begins_at, expires_at)
    select $1, * from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::timestamptz[], $8::timestamptz[])
    on conflict (environment, user_id, platform, lineage) do update
      set state = excluded.state, auto_renewing = excluded.auto_renewing, begins_at = excluded.begins_at, expires_at = excluded.expires_at
      where excluded.begins_at >= s.begins_at`,
  columns(entries) {
    const rows = new Map<
      string,
      { user: string; platform: string; lineage: string; state: string; begins: string; expires: string | null }
    >()
    // A cancellation of this stream names no transaction, so it changes no subscription, here as in the product.
    for (const { user, platform, item } of ofUsers(entries).filter(({ item }) => BEGINS.has(item.event_name))) {
      const lineage = item.transaction?.original_transaction_id ?? ''
      const begins = item.transaction?.transaction_date ?? item.happened_at
      const key = `${user} ${platform} ${lineage}`
      if ((rows.get(key)?.begins ?? '') > begins) continue
      const state = item.event_name === 'trial_started' ? 'trial' : 'paid'
      rows.set(key, { user, platform: platform ?? '', lineage, state, begins, expires: item.transaction?.expires_at ?? null })
    }
    const subscriptions = sorted(rows)
    return [
      arrayOf(subscriptions, row => row.user),
      arrayOf(subscriptions, row => row.platform),
      arrayOf(subscriptions, row => row.lineage),
      arrayOf(subscriptions, row => row.state),
      arrayOf(subscriptions, () => 't'),
      arrayOf(subscriptions, row => row.begins),
      arrayOf(subscriptions, row => row.expires),
    ]
  },
}

export const keepSums: Upsert = {
  name: 'sums',
  text: `insert into by_hand_sums as s (environment, user_id, payments, net_usd)
    select $1, * from unnest($2::text[], $3::int[], $4::numeric[])
    on conflict (environment, user_id) do update set payments = s.payments + excluded.payments, net_usd = s.net_usd + excluded.net_usd`,
  columns(entries) {
    const rows = new Map<string, { user: string; payments: number; cents: number }>()
    for (const { user, item, money } of ofUsers(entries)) {
      if (!PAYMENTS.has(item.event_name) || Number(money.price) <= 0) continue
      const { payments, cents } = rows.get(user) ?? { payments: 0, cents: 0 }
      rows.set(user, { user, payments: payments + 1, cents: cents + Math.round(Number(money.priceUsd) * 100) })
    }
    const sums = sorted(rows)
    return [arrayOf(sums, row => row.user), arrayOf(sums, row => row.payments), arrayOf(sums, row => (row.cents / 100).toFixed(2))]
  },
}

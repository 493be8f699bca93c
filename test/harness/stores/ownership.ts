import type { ReachedStores } from './reached-stores.ts'

export type Ownership = ReturnType<typeof ownershipIn>

/** Whose the purchases of the current project are, what was told of them, and who has access. */
export function ownershipIn(stores: ReachedStores) {
  const policy = (name: string) =>
    stores.api.pool.query('update projects set transfer_policy = $2 where id = $1', [stores.project.id, name])
  const ownersOf = async () => [...new Set((await stores.purchases()).map(({ user }) => user))]
  const eventsOf = async (user: string) =>
    (
      await stores.api.pool.query<{ name: string; happened_at: string }>(
        'select name, happened_at from events where environment = $1 and user_id = $2 order by happened_at, log_offset',
        [stores.project.production, user],
      )
    ).rows
  const namesOf = async (user: string) => (await eventsOf(user)).map(({ name }) => name)
  const hasAccess = async (user: string) => {
    const { data } = await stores.good('GET', `/v4/users/${user}/entitlements`)
    return (data as { is_active: boolean }[]).some(one => one.is_active)
  }
  const accessOf = (users: string[]) => Promise.all(users.map(hasAccess))
  const lineages = async () =>
    (
      await stores.api.pool.query<{ id: number; user_id: string | null }>(
        'select id, user_id from lineages where environment = $1 order by id',
        [stores.project.production],
      )
    ).rows
  return { policy, ownersOf, eventsOf, namesOf, hasAccess, accessOf, lineages }
}

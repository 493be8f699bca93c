/** A posted event of a lineage. `owner`: for whom it counts so far. `begins` in ms. */
export type Counted = { id: string; owner: string; isPeriod: boolean; begins: number }

/**
 * Who has a lineage: the user of its first period that was posted; where the transfer policy moves it, the user of each period since that begins after all
 * periods before. An older one, of history that is posted late, moves nothing. `events`: in the order in which they were posted. What was settled
 * before has one owner, so the policy decides about new events alone.
 */
export function ownerOf(events: readonly Counted[], transfers: boolean): string {
  const periods = events.filter(({ isPeriod }) => isPeriod)
  let { owner, begins: newest } = periods[0] ?? events[0]!
  for (const period of periods) {
    if (transfers && period.begins > newest) owner = period.owner
    newest = Math.max(newest, period.begins)
  }
  return owner
}

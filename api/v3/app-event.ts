import type { AppUser, ReportedTraits } from '../../domain/audience/customers/app-user.ts'
import { appEventPrefix, type EventInput } from '../../domain/events/item.ts'
import { MAX_AHEAD_MS } from '../../domain/kernel/limits.ts'
import { isoMicros } from '../../domain/kernel/time/instant.ts'
import { wholeSeconds } from '../time.ts'

/** The time of the event: as it was sent, unless it lies too far in the future. `now` of the user's environment in µs. */
export const happenedAt = (sent: number | undefined, now: number): string =>
  sent === undefined || sent * 1000 > now / 1000 + MAX_AHEAD_MS ? isoMicros(now) : wholeSeconds(sent * 1000)

/** The id of an event in the log. No caller of v4 can send it: each user has a space of ids. */
export const appEventId = ({ no }: AppUser, id: string): string => `${appEventPrefix(no)}:${id}`

/** The data of the headers in the form of the log. */
export const deviceAndApp = ({ platform, device, app }: ReportedTraits): Pick<EventInput, 'platform' | 'device' | 'app'> => ({
  ...(platform && { platform }),
  ...(device && { device }),
  ...(app && { app }),
})

/** A field of an item of a batch, as the details of a refusal name it. */
export const fieldOf = (i: number, field: string): string => (field === 'body' ? `events[${i}]` : `events[${i}].${field}`)

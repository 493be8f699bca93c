import { isCustom, slugOf } from '../events/catalogue.ts'
import type { LogEvent } from '../log/consumer.ts'
import { outgoingNames } from './config.ts'

/** What decides which events an integration takes. */
export type Selection = {
  slug: string
  target_platform: string
  /** Places in the log from which on it takes them; null: none yet. */
  from_offsets: number[] | null
  events: string[] | null
  event_mapping: Record<string, string>
}

type Selected = Pick<LogEvent, 'name' | 'platform'>

/** Whether the configuration takes such an event, wherever in the log it stands. */
export function selector({ slug, target_platform: target, events, event_mapping }: Selection): (event: Selected) => boolean {
  const names = events === null ? null : new Set(events.map(type => (type === '*' ? type : slugOf(type))))
  const tokens = slug === 'adjust' ? outgoingNames(event_mapping) : null
  const isNamed = (name: string) => (names === null ? !isCustom(name) : names.has(name) || (names.has('*') && isCustom(name)))
  const isOfPlatform = (platform: string | null) =>
    platform === null || platform === target || (target === 'Stripe' && platform === 'Paddle')
  return ({ name, platform }) => isNamed(name) && isOfPlatform(platform) && (tokens === null || tokens.has(name))
}

/** Whether the event came after the integration's first activation. */
export const isAfterStart = ({ from_offsets: from }: Selection, { partition, log_offset }: Pick<LogEvent, 'partition' | 'log_offset'>) =>
  from !== null && log_offset >= from[partition]!

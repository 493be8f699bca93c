import type { LogEvent } from '../durable/log/consumer.ts'
import { isCustom, slugOf } from '../events/catalogue.ts'
import { outgoingNames } from './config.ts'

/** The configuration that selects the events of an integration. */
export type EventSelection = {
  slug: string
  target_platform: string
  /** Per partition, the offset of the first event that it takes; null: it was never active. */
  from_offsets: number[] | null
  events: string[] | null
  event_mapping: Record<string, string>
}

/** Whether the configuration takes an event, at any offset of the log. */
export function eventFilter({
  slug,
  target_platform: target,
  events,
  event_mapping,
}: EventSelection): (event: Pick<LogEvent, 'name' | 'platform'>) => boolean {
  const names = events === null ? null : new Set(events.map(type => (type === '*' ? type : slugOf(type))))
  const tokens = slug === 'adjust' ? outgoingNames(event_mapping) : null
  const isNamed = (name: string) => (names === null ? !isCustom(name) : names.has(name) || (names.has('*') && isCustom(name)))
  const isOfPlatform = (platform: string | null) =>
    platform === null || platform === target || (target === 'Stripe' && platform === 'Paddle')
  return ({ name, platform }) => isNamed(name) && isOfPlatform(platform) && (tokens === null || tokens.has(name))
}

/** Whether the event was appended after the integration's first activation. */
export const isAfterStart = (
  { from_offsets: from }: EventSelection,
  { partition, log_offset }: Pick<LogEvent, 'partition' | 'log_offset'>,
) => from !== null && log_offset >= from[partition]!

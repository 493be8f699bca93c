import type { ChannelProbe } from '../../domain/oversight/alerts/channel-settings.ts'
import { triedOf } from '../destinations/probe.ts'
import { sendWithin } from '../destinations/send-within.ts'
import { type ChannelDeps, sendToChannel } from './send.ts'

const LIMIT_MS = 10_000

/** Sends a message to a channel while the caller waits for the result. */
export const channelProbe =
  (deps: ChannelDeps): ChannelProbe =>
  async (channel, message) =>
    triedOf(await sendWithin(LIMIT_MS, [], signal => sendToChannel(deps, channel, message, { signal, acceptedBy: [] })))

import { isDeepStrictEqual } from 'node:util'
import { signingSecret } from '../../../store/ids.ts'
import { SIGNING_SECRET } from '../../integrations/config.ts'
import type { ProbeResult } from '../../integrations/probe.ts'
import type { Setting } from '../../integrations/provider.ts'
import { validateSettings } from '../../integrations/validate-config.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Detail, invalidField, invalidFields } from '../../kernel/refusal.ts'
import { openText, type Secrets, sealText } from '../../projects/secrets.ts'
import { type ChannelRow, type ChannelType, type ChannelValues, channelContext, type OpenChannel } from './channel.ts'
import type { AlertKind } from './kinds.ts'
import type { AlertMessage } from './message.ts'

const SETTINGS: Record<ChannelType, { title: string; settings: readonly Setting[] }> = {
  email: { title: 'e-mail', settings: [{ name: 'recipients', kind: 'emails', required: true, secret: false }] },
  slack: { title: 'Slack', settings: [{ name: 'webhook_url', kind: 'url', required: true, secret: true }] },
  webhook: {
    title: 'webhooks',
    settings: [
      { name: 'url', kind: 'url', required: true, secret: false },
      { name: SIGNING_SECRET, kind: 'signing_secret', required: false, secret: true },
    ],
  },
}

export const settingsOfChannel = (type: ChannelType): readonly Setting[] => SETTINGS[type].settings

export type ChannelInput = { title: string; type: ChannelType; kinds: AlertKind[] | null; settings: Record<string, unknown> }

/** Tries channels. Never use it inside a transaction. Ends within 10 s, and does not throw for a failure of the receiver. */
export type ChannelProbe = (channel: OpenChannel, message: AlertMessage) => Promise<ProbeResult>

/** The parts that name the channel, seal its secrets, and decide which addresses it may have. */
type Sealing = { secrets: Secrets; environment: Environment; id: string; allowPrivate: boolean }

const isGiven = (value: unknown) => value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)

/** `old`: the present secrets; they stay where the input leaves them out. */
function assertValid({ type, settings }: ChannelInput, old: Record<string, string>, allowPrivate: boolean): void {
  const faults: Detail[] = validateSettings(SETTINGS[type], settings, allowPrivate)
  for (const { name, kind, required, secret } of settingsOfChannel(type))
    if (required && !isGiven(settings[name]) && !(secret && settings[name] === undefined && name in old))
      faults.push({ field: `settings.${name}`, message: kind === 'emails' ? 'must name at least one address' : 'must be given' })
  if (faults.length > 0) throw invalidFields(faults)
}

function sealAll({ secrets, environment, id }: Sealing, { type, settings }: ChannelInput, old: Record<string, string>) {
  const sealed: Record<string, string> = {}
  for (const { name, secret } of settingsOfChannel(type)) {
    if (!secret || settings[name] === null) continue
    const context = channelContext(environment, id, name)
    const kept = old[name]
    if (settings[name] === undefined || (kept !== undefined && openText(secrets, kept, context) === settings[name])) {
      if (kept !== undefined) sealed[name] = kept
    } else sealed[name] = sealText(secrets, String(settings[name]), context)
  }
  // Every webhook is signed, so a webhook without a secret gets one.
  const generated = type === 'webhook' && sealed[SIGNING_SECRET] === undefined ? signingSecret() : null
  if (generated !== null) sealed[SIGNING_SECRET] = sealText(secrets, generated, channelContext(environment, id, SIGNING_SECRET))
  return { sealed, generated }
}

function valuesFor(sealing: Sealing, input: ChannelInput, old: Record<string, string>) {
  assertValid(input, old, sealing.allowPrivate)
  const { sealed, generated } = sealAll(sealing, input, old)
  const plain = settingsOfChannel(input.type).filter(({ name, secret }) => !secret && isGiven(input.settings[name]))
  const settings = Object.fromEntries(plain.map(({ name }) => [name, input.settings[name]]))
  const { title, type, kinds } = input
  return { values: { title, type, kinds, settings, secrets: sealed } satisfies ChannelValues, generated }
}

/** A new channel as it is stored, and the signing secret if one was generated. Throws `invalid_data` with all faults. */
export const newChannelValues = (sealing: Sealing, input: ChannelInput) => valuesFor(sealing, input, {})

const originOf = ({ url }: Record<string, unknown>) => (typeof url === 'string' ? new URL(url).origin : null)

/**
 * The change that replaces everything but the secrets that the input leaves out; null: nothing changes. Another origin needs the signing
 * secret again, as with integrations: a caller who may change an address but never saw the secret must not get requests that are signed
 * with it.
 */
export function changeChannel(sealing: Sealing, old: ChannelRow, input: ChannelInput) {
  if (input.type !== old.type) throw invalidField('type', `must stay ${old.type}: create another channel`)
  const { values, generated } = valuesFor(sealing, input, old.secrets)
  const isMoved = originOf(values.settings) !== originOf(old.settings)
  if (isMoved && input.settings[SIGNING_SECRET] === undefined)
    throw invalidField(`settings.${SIGNING_SECRET}`, 'must be given again (or be null), because the settings name another address')
  const { title, type, kinds, settings, secrets } = old
  if (isDeepStrictEqual(values, { title, type, kinds, settings, secrets })) return null
  const replaced = secrets[SIGNING_SECRET]
  const former = !isMoved && replaced !== undefined && replaced !== values.secrets[SIGNING_SECRET] ? replaced : null
  return { change: { ...values, former, isMoved }, generated }
}

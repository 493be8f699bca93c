import type { KeyOwner } from '../domain/projects/keys.ts'
import type { AddressLimit } from './address-limit.ts'
import type { authenticator } from './authenticate.ts'
import type { Layer } from './context.ts'
import { allowanceHeaders, type KeyLimits } from './rate-limit.ts'
import type { SandboxStates } from './sandbox-state.ts'

/** The checks of every request of an app, whatever its protocol. */
export type AppGate = { ownerOf: ReturnType<typeof authenticator>; keys: KeyLimits; addresses: AddressLimit; stateOf: SandboxStates }

type Context = Parameters<Layer>[0]

export async function identifyApp(ctx: Context, { addresses, ownerOf }: AppGate): Promise<KeyOwner> {
  const owner = await addresses.ownerOf(ctx, ownerOf)
  ctx.state.owner = owner
  return owner
}

/** Takes a token of the address and of the key, and sets the headers with the clock of the sandbox; false while the sandbox is being emptied. */
export async function acceptApp(ctx: Context, { addresses, keys, stateOf }: AppGate, owner: KeyOwner): Promise<boolean> {
  addresses.take(ctx, owner)
  const allowance = keys[owner.kind](`${owner.keyId}:${owner.environmentKind}`, 1)
  if (allowance) ctx.set(allowanceHeaders(allowance))
  if (owner.environmentKind !== 'sandbox') return true
  const { headers, isResetting } = await stateOf(owner)
  ctx.set(headers)
  return !isResetting
}

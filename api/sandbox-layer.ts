import { resetting } from '../domain/oversight/sandbox/reset.ts'
import type { Layer } from './context.ts'
import { Problem } from './errors.ts'
import { isOpenDuringReset, type SandboxStates } from './sandbox-state.ts'

/**
 * Sets the headers with the clock of the sandbox, as of the end of an operation that moves it; refuses other operations while the sandbox
 * is being emptied.
 */
export function sandboxState(stateOf: SandboxStates): Layer {
  return async (ctx, next) => {
    const { owner, match } = ctx.state
    if (owner!.environmentKind !== 'sandbox') return next()
    const { headers, isResetting } = await stateOf(owner!)
    const operation = match.is === 'found' ? match.route.description : undefined
    ctx.set(headers)
    if (isResetting && !isOpenDuringReset(operation?.id))
      throw new Problem('conflict', resetting().message, { headers: { 'Retry-After': '1' } })
    await next()
    if (!operation?.sandboxOnly || operation.method === 'GET') return
    ctx.remove('X-Clock')
    ctx.set((await stateOf(owner!)).headers)
  }
}

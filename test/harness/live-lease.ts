import { type Signals, UNTRACED } from '../../workflows/engine/handler.ts'
import { claimNothing } from './consume.ts'

/** What an executor gives to a handler, with a lease that is never lost. */
export const liveLease = (): Signals => ({
  traced: UNTRACED,
  claimOnInsert: claimNothing,
  lease: new AbortController().signal,
  isHeld: () => true,
  effectBegins: () => {},
  effectRecorded: () => {},
  untilRecorded: write => write(false),
  stopping: new AbortController().signal,
  halt: new AbortController().signal,
})

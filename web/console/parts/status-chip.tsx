import { plain } from './t.ts'

export type Tone = 'good' | 'info' | 'warn' | 'bad' | 'mute'

/** Each tone has its sign, so that none is told by colour alone. */
const SIGN: Record<Tone, string> = { good: '●', info: '◐', warn: '▲', bad: '✕', mute: '○' }

const TONES: Record<Tone, readonly string[]> = {
  good: ['succeeded', 'delivered', 'active', 'kept', 'done', 'subscriber', 'paid', 'completed', 'sent', 'enabled'],
  info: ['trial', 'running', 'waiting', 'pending', 'processing', 'outstanding', 'scheduled', 'queued'],
  warn: ['retrying', 'held', 'paused', 'grace', 'grace_period', 'billing_retry', 'billing_issue', 'withheld', 'refunded'],
  bad: ['failed', 'broken', 'error', 'overdue', 'gone', 'revoked'],
  mute: [],
}

export const toneOf = (status: string): Tone => (Object.keys(TONES) as Tone[]).find(tone => TONES[tone].includes(status)) ?? 'mute'

/** A status: `<StatusChip status="billing_retry" />`. What is not known has no colour. */
export function StatusChip({ status, tone = toneOf(status), label = plain(status) }: { status: string; tone?: Tone; label?: string }) {
  return (
    <span className={`status ${tone}`}>
      <i aria-hidden="true">{SIGN[tone]}</i>
      {label}
    </span>
  )
}

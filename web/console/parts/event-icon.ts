import type { IconName } from './icon.tsx'

const LOOKS: readonly [RegExp, { icon: IconName; tone: string }][] = [
  [/refund|expired|fail/, { icon: 'undo', tone: 'warn' }],
  [/cancel|retry|grace/, { icon: 'warn', tone: 'warn' }],
  [/^trial_started|started$/, { icon: 'bolt', tone: 'info' }],
  [/converted|renewed|purchase|paid/, { icon: 'tag', tone: 'good' }],
  [/entitlement|grant/, { icon: 'gift', tone: 'info' }],
]

/** The sign of an event, by the word in its name; one's own events have the plain one. */
export const iconOfEvent = (name: string): { icon: IconName; tone: string } =>
  LOOKS.find(([pattern]) => pattern.test(name))?.[1] ?? { icon: 'bolt', tone: '' }

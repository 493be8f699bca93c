import type { AnalyticsInsight } from '../../../clients/typescript/src/index.ts'
import type { IconName } from './icon.tsx'

/** How the kinds of insights look, and what they are called. */
export const INSIGHT_LOOKS: Readonly<Record<AnalyticsInsight['type'], { tone: string; icon: IconName; says: string }>> = {
  critical: { tone: 'bad', icon: 'down', says: 'Critical' },
  positive: { tone: 'good', icon: 'up', says: 'Positive' },
  tip: { tone: 'warn', icon: 'eye', says: 'To improve' },
  info: { tone: 'info', icon: 'info', says: 'To know' },
}

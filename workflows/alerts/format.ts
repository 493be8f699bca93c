import { sentenceOf, shownAlert } from '../../domain/oversight/alerts/kinds.ts'
import type { AlertMessage, AlertPhase } from '../../domain/oversight/alerts/message.ts'

const PHASES: Record<AlertPhase, string> = { began: 'Alert', continues: 'Again', ended: 'Over' }

const environmentName = ({ project, environment }: AlertMessage) => `${project} (${environment})`

/** An alert as a line and as a text, one fact a line. */
export function alertAsText(message: AlertMessage): { subject: string; lines: string[] } {
  const { phase, test, alert } = message
  const subject = `${test ? 'Test: ' : ''}${PHASES[phase]}: ${sentenceOf(alert)}`
  const lines = [
    subject,
    `Project: ${environmentName(message).replaceAll(/\s+/g, ' ')}`,
    `Began: ${alert.began_at}`,
    ...(phase === 'continues' ? [`Last: ${alert.last_at}`] : []),
    ...(alert.ended_at === null ? [] : [`Ended: ${alert.ended_at}`]),
    ...(alert.detail === null ? [] : [`Detail: ${alert.detail.replaceAll(/\s+/g, ' ')}`]),
    `Id: ${alert.id}`,
  ]
  return { subject, lines }
}

/** An alert as the body of a webhook. */
export const alertAsJson = ({ phase, test, project, environment, alert }: AlertMessage): string =>
  JSON.stringify({
    type: `alert.${phase}`,
    test,
    project,
    environment,
    alert: shownAlert(alert),
  })

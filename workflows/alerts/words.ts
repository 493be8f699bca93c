import { HOLDERS, sentenceOf } from '../../domain/alerts/kinds.ts'
import type { AlertMessage, AlertPhase } from '../../domain/alerts/message.ts'

const PHASES: Record<AlertPhase, string> = { began: 'Alert', continues: 'Again', ended: 'Over' }

const place = ({ project, environment }: AlertMessage) => `${project} (${environment})`

/** An alert as a line and as a text, one fact a line. */
export function alertAsText(message: AlertMessage): { subject: string; lines: string[] } {
  const { phase, test, alert } = message
  const subject = `${test ? 'Test: ' : ''}${PHASES[phase]}: ${sentenceOf(alert)}`
  const lines = [
    subject,
    `Project: ${place(message).replaceAll(/\s+/g, ' ')}`,
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
    alert: {
      id: alert.id,
      kind: alert.kind,
      holder: { kind: HOLDERS[alert.kind], id: alert.holder, title: alert.title },
      about: alert.about === '' ? null : alert.about,
      message: sentenceOf(alert),
      detail: alert.detail,
      count: alert.count,
      began_at: alert.began_at,
      last_at: alert.last_at,
      ended_at: alert.ended_at,
    },
  })

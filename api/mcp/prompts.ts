import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server'

type Given = Record<string, string>
type Prompt = { name: string; title: string; description: string; required: string[]; optional: string[]; text: (given: Given) => string }

const PROMPTS: readonly Prompt[] = [
  {
    name: 'why_did_mrr_move',
    title: 'Why did MRR move?',
    description: 'What moved the monthly recurring revenue between two days.',
    required: ['from', 'to'],
    optional: ['currency'],
    text: ({ from, to, currency = 'USD' }) =>
      [
        `Find out why MRR moved between ${from} and ${to}, in ${currency}.`,
        'Read with get_analytics_chart the charts mrr-movement, new-subscriptions, subscription-cancellation and refunds for this time,',
        'each also by product, by store (target_platform) and by country (the argument segmentation).',
        'Answer with the largest movements first, each with its figure and where it comes from, then with one finding. Say what the figures do not show.',
      ].join(' '),
  },
  {
    name: 'which_reports_were_late',
    title: 'Which reports were late?',
    description: 'The scheduled reports whose runs were late, withheld, failed or skipped.',
    required: ['from', 'to'],
    optional: [],
    text: ({ from, to }) =>
      [
        `Find the scheduled reports that did not arrive as planned between ${from} and ${to}.`,
        'Read the ledger with get_ledger, all reports with list_scheduled_reports, and the runs of each with list_scheduled_report_runs.',
        'List by report the runs that were late, withheld, failed or skipped, each with its reason as the run states it.',
      ].join(' '),
  },
  {
    name: 'why_no_message',
    title: 'Why did a customer get no message?',
    description: 'What an automation did for one customer, step by step.',
    required: ['user_id', 'automation_id'],
    optional: [],
    text: ({ user_id, automation_id }) =>
      [
        `Find out why the user ${user_id} got no message of the automation ${automation_id}.`,
        'Read the automation with get_automation and the runs of the user with list_automation_runs (filter_user_id), also those that were skipped.',
        'Read each run with get_automation_run: its steps and what they answered; and the deliveries with list_integration_deliveries where a step names one.',
        'Answer with the first cause in time, and what the operator can change.',
      ].join(' '),
  },
]

const refused = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message)

export function addPrompts(server: Server): void {
  server.setRequestHandler('prompts/list', () => ({
    prompts: PROMPTS.map(({ name, title, description, required, optional }) => ({
      name,
      title,
      description,
      arguments: [...required.map(of => ({ name: of, required: true })), ...optional.map(of => ({ name: of, required: false }))],
    })),
  }))
  server.setRequestHandler('prompts/get', ({ params }) => {
    const prompt = PROMPTS.find(({ name }) => name === params.name)
    if (!prompt) throw refused(`there is no prompt ${params.name}`)
    const given = params.arguments ?? {}
    const missing = prompt.required.filter(name => !given[name])
    if (missing.length > 0) throw refused(`missing: ${missing.join(', ')}`)
    return {
      description: prompt.description,
      messages: [{ role: 'user' as const, content: { type: 'text' as const, text: prompt.text(given) } }],
    }
  })
}

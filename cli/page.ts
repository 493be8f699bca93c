import { type ActionDefinition, actionsOf, argumentTerm, commandUsage, EXITS, type GroupDefinition, optionTerm } from './definition.ts'
import { PROGRAM } from './program.ts'

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('{', '&#123;')
const fence = (lines: string[]) => ['```sh', ...lines, '```'].join('\n')

function tableOf({ arguments: names = [], options = {} }: ActionDefinition): string[] {
  const rows = [
    ...names.map(one => [argumentTerm(one), one.says]),
    ...Object.entries(options).map(([name, option]) => [
      optionTerm(name, option),
      `${option.says}${option.default === undefined ? '' : ` (default: \`${option.default}\`)`}`,
    ]),
  ]
  if (rows.length === 0) return []
  return [
    [
      '| argument or option | |',
      '|---|---|',
      ...rows.map(([term, says]) => `| \`${term!.replaceAll('|', '\\|')}\` | ${cell(says!)} |`),
    ].join('\n'),
  ]
}

function section({ words, action }: { words: string[]; action: ActionDefinition }): string {
  const { summary, details, exits, examples } = action
  return [
    `## ${words.join(' ')}`,
    `${summary[0]!.toUpperCase()}${summary.slice(1)}.`,
    `\`${PROGRAM} ${[...words, commandUsage(action)].join(' ').trim()}\``,
    ...tableOf(action),
    // As the help prints it: fields, templates and commands keep their lines.
    ...(details === undefined ? [] : [['```text', details, '```'].join('\n')]),
    `Exit code: ${exits ?? EXITS}.`,
    fence(examples.map(example => `${PROGRAM} ${example}`)),
  ].join('\n\n')
}

/** docs/cli.md. */
export const referencePage = (root: GroupDefinition): string =>
  [
    '<!-- Made by npm run generate from the definitions in cli/. -->',
    '# Command line',
    `${root.summary} Each command prints this text with \`--help\`; \`--version\` prints the version. Results go to standard output, progress and faults to standard error. A wrong call ends with the exit code 1, an interrupted command with 130.`,
    '`--json` prints what a table shows as JSON, for programs. With npm, `npm run --silent cli -- project list --json` prints nothing else.',
    ...actionsOf(root).map(section),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n')

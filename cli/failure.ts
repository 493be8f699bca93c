import { operatorLine } from '../app/exit-line.ts'

/** The program prints the message as one line and exits with 1. */
export class CliError extends Error {}

/** The arguments of the command are wrong: the program also prints the usage. */
export class UsageError extends CliError {}

/** One line for the operator; undefined for a fault of the program, which is printed with its stack. */
export function lineOf(error: unknown): string | undefined {
  if (error instanceof CliError) return error.message
  return codeOf(error).startsWith('ERR_PARSE_ARGS') ? (error as Error).message.split('\n')[0] : operatorLine(error)
}

export const isUsageError = (error: unknown): boolean => error instanceof UsageError || codeOf(error).startsWith('ERR_PARSE_ARGS')

/** The errno of a failed file operation or connection; '' for any other error. */
export const codeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

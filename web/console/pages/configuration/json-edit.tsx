import { t } from '../../parts/t.ts'
import type { JsonFault } from './payload.ts'

/** The payload as JSON. What is no JSON yet stays typed, and its first fault is shown with its line. */
export function JsonEdit({ text, fault, onChange }: { text: string; fault: JsonFault | undefined; onChange: (text: string) => void }) {
  const line = fault?.line === undefined ? undefined : text.split('\n')[fault.line - 1]
  return (
    <div className="payload-json">
      <textarea
        aria-label={t('JSON of the payload')}
        aria-invalid={fault !== undefined}
        aria-describedby={fault ? 'payload-json-fault' : undefined}
        rows={Math.min(32, Math.max(10, text.split('\n').length + 1))}
        spellCheck={false}
        value={text}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
      {fault && (
        <div className="payload-json-fault" id="payload-json-fault" role="status">
          <p>
            {fault.line === undefined
              ? fault.says
              : t('Line {line}, column {column}: {says}', { line: fault.line, column: fault.column ?? 1, says: fault.says })}
          </p>
          {line !== undefined && <Pointed line={line} column={fault.column ?? 1} />}
        </div>
      )}
    </div>
  )
}

/** So much of a line is shown around its fault. */
const AROUND = 40

/** The part of the line where it stops being JSON, with a mark below. */
function Pointed({ line, column }: { line: string; column: number }) {
  const from = Math.max(0, column - 1 - AROUND)
  return <pre>{`${line.slice(from, column - 1 + AROUND)}\n${' '.repeat(column - 1 - from)}^`}</pre>
}

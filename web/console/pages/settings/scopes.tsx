import { SCOPES } from 'virtual:scopes'
import { Checkbox } from '@mantine/core'
import type { Scope } from '../../../../clients/typescript/src/index.ts'
import { plain, t } from '../../parts/t.ts'

const RESOURCES = [...new Set(SCOPES.map(scope => scope.slice(0, scope.indexOf(':'))))]
const VERBS = ['read', 'write'] as const
const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text)

/** What a key opens: `read` the reads of a resource, `write` everything else of it. */
export function Scopes({ chosen, onChange }: { chosen: readonly Scope[]; onChange: (scopes: readonly Scope[]) => void }) {
  const toggle = (scope: Scope) => onChange(chosen.includes(scope) ? chosen.filter(other => other !== scope) : [...chosen, scope])
  const reads = SCOPES.filter(scope => scope.endsWith(':read') && scope !== 'project_settings:read')
  return (
    <fieldset className="scopes">
      <legend className="form-label">{t('Opens')}</legend>
      <div className="scopes-quick">
        <button type="button" className="chip small" onClick={() => onChange(reads)}>
          {t('All reads but the settings')}
        </button>
        <button type="button" className="chip small" onClick={() => onChange([])}>
          {t('None')}
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
      <section className="scopes-list" aria-label={t('Scopes')} tabIndex={0}>
        {RESOURCES.map(resource => (
          <div key={resource}>
            <span>{plain(resource)}</span>
            {VERBS.map(verb => {
              const scope = `${resource}:${verb}`
              if (!isScope(scope)) return <span key={verb} />
              return (
                <Checkbox
                  key={verb}
                  size="xs"
                  label={verb === 'read' ? t('read') : t('write')}
                  aria-label={`${plain(resource)}: ${verb}`}
                  checked={chosen.includes(scope)}
                  onChange={() => toggle(scope)}
                />
              )
            })}
          </div>
        ))}
      </section>
    </fieldset>
  )
}

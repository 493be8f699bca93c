import { type BundledLanguage, createHighlighter, type ThemedTokenWithVariants } from 'shiki'
import { escaped } from './escaped.ts'

const THEMES = { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' } as const
/** What stands after the fence of the guides. A fence without a language, and `text`, are not coloured. */
const LANGUAGES = ['bash', 'sh', 'js', 'ts', 'json', 'sql', 'http', 'yaml'] as const satisfies BundledLanguage[]

/**
 * Colours code by classes, one for each pair of colours that occurs, so that the pages need no inline style. `css`: the rules of all classes that
 * were given out so far.
 */
export async function classHighlighter(): Promise<{ html(code: string, language: string): string; css(): string }> {
  const highlighter = await createHighlighter({ themes: Object.values(THEMES), langs: [...LANGUAGES] })
  const classes = new Map<string, string>()
  const classOf = ({ variants: { light, dark } }: ThemedTokenWithVariants) => {
    const colours = `${light?.color?.toLowerCase()},${dark?.color?.toLowerCase()}`
    const known = classes.get(colours) ?? `c${classes.size}`
    classes.set(colours, known)
    return known
  }
  const isKnown = (language: string): language is (typeof LANGUAGES)[number] => (LANGUAGES as readonly string[]).includes(language)
  return {
    html(code, language) {
      if (language === '' || language === 'text') return escaped(code)
      if (!isKnown(language)) throw new Error(`no colours for ${language}: name it in LANGUAGES`)
      // Without a limit: on a busy machine a line would lose its colours after half a second.
      const lines = highlighter.codeToTokensWithThemes(code, { lang: language, themes: THEMES, tokenizeTimeLimit: 0 })
      const span = (token: ThemedTokenWithVariants) =>
        token.content.trim() === '' ? token.content : `<span class="${classOf(token)}">${escaped(token.content)}</span>`
      return lines.map(line => line.map(span).join('')).join('\n')
    },
    css: () => [...classes].map(([colours, name]) => `.${name} { color: light-dark(${colours}) }\n`).join(''),
  }
}

const DAY = 86_400_000
/** An ISO time so many days from now. */
export const iso = (days: number): string => new Date(Date.now() + days * DAY).toISOString().replace(/\.\d+Z$/, 'Z')

/** Texts that would like to be more than text, or wider than the page. `\u202E` turns round what stands behind it. */
export const HOSTILE = [
  `<img src=x onerror="document.title='stolen'">`,
  'javascript:document.title="stolen"',
  '\u202Egnp.exe',
  '__proto__',
  'constructor',
  '👩‍👩‍👧‍👦🏳️‍🌈 ꙮ',
  '"><svg onload=alert(1)>{{7*7}}${7*7}',
  'x'.repeat(240),
]
/** What is as long as the API takes it. */
export const LONGEST = 'w'.repeat(1_000)

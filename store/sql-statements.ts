/** A comment, a string, a quoted name, a text in dollar quotes, the end of a statement, or anything else. Not: strings with backslashes (E'…'). */
const TOKEN = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1|;|[^-/'"$;]+|[\s\S]/g

/** The statements of an SQL text in order, without comments and without the semicolons between them. */
export function statementsOf(sql: string): string[] {
  const statements = ['']
  for (const [token] of sql.matchAll(TOKEN)) {
    if (token === ';') statements.push('')
    else statements[statements.length - 1] += /^(--|\/\*)/.test(token) ? ' ' : token
  }
  return statements.map(statement => statement.trim()).filter(statement => statement !== '')
}

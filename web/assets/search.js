import MiniSearch from './minisearch.js'

const SHOWN = 8
const EXCERPT = 110

const input = document.querySelector('#search')
const list = document.querySelector('#results')
let opened
let chosen = -1

/** The index is fetched and built when somebody begins to search. */
async function open() {
  const response = await fetch('/docs/assets/search.json')
  const sections = await response.json()
  const search = new MiniSearch({
    fields: ['heading', 'page', 'body'],
    storeFields: ['heading', 'page', 'body'],
    searchOptions: { boost: { heading: 4, page: 2 }, prefix: true, fuzzy: term => (term.length > 4 ? 0.2 : false), combineWith: 'AND' },
  })
  search.addAll(sections)
  return search
}

/** The part of the text around the first word that was found. */
function excerptOf(body, terms) {
  const lower = body.toLowerCase()
  const first = Math.min(...terms.map(term => lower.indexOf(term)).filter(at => at >= 0), body.length)
  const from = first === body.length ? 0 : Math.max(0, body.lastIndexOf(' ', Math.max(0, first - 30)))
  const text = body.slice(from, from + EXCERPT).trim()
  return `${from > 0 ? '… ' : ''}${text}${from + EXCERPT < body.length ? ' …' : ''}`
}

function show(results) {
  chosen = -1
  list.replaceChildren(
    ...results.map(({ id, heading, page, body, terms }, i) => {
      const item = document.createElement('li')
      item.id = `result-${i}`
      item.role = 'option'
      item.setAttribute('aria-selected', 'false')
      const link = document.createElement('a')
      link.href = id
      link.tabIndex = -1
      for (const [name, text] of [
        ['strong', heading],
        ['small', page],
        ['span', excerptOf(body, terms)],
      ]) {
        const part = document.createElement(name)
        part.textContent = text
        link.append(part)
      }
      item.append(link)
      return item
    }),
  )
  if (results.length === 0 && input.value.trim() !== '') {
    const none = document.createElement('li')
    none.role = 'option'
    none.setAttribute('aria-selected', 'false')
    none.className = 'none'
    none.textContent = 'Nothing found'
    list.append(none)
  }
  setOpen(list.children.length > 0)
}

function setOpen(isOpen) {
  list.hidden = !isOpen
  input.setAttribute('aria-expanded', String(isOpen))
  if (!isOpen) input.removeAttribute('aria-activedescendant')
}

function choose(next) {
  const items = [...list.querySelectorAll('li:not(.none)')]
  if (items.length === 0) return
  chosen = (next + items.length) % items.length
  for (const [i, item] of items.entries()) item.setAttribute('aria-selected', String(i === chosen))
  items[chosen].scrollIntoView({ block: 'nearest' })
  input.setAttribute('aria-activedescendant', items[chosen].id)
}

async function find() {
  const text = input.value.trim()
  if (text === '') return show([])
  opened ??= open()
  const search = await opened
  if (text === input.value.trim()) show(search.search(text).slice(0, SHOWN))
}

export function startSearch() {
  input.addEventListener('focus', () => {
    opened ??= open()
  })
  input.addEventListener('input', find)
  input.addEventListener('keydown', event => {
    if (event.key === 'ArrowDown') choose(chosen + 1)
    else if (event.key === 'ArrowUp') choose(chosen - 1)
    else if (event.key === 'Escape') setOpen(false)
    else if (event.key === 'Enter') list.querySelectorAll('a')[Math.max(0, chosen)]?.click()
    else return
    if (event.key !== 'Escape') event.preventDefault()
  })
  document.addEventListener('click', event => {
    if (!event.target.closest('search')) setOpen(false)
  })
  list.addEventListener('click', () => setOpen(false))
  document.addEventListener('keydown', event => {
    const isTyping = event.target.matches('input, textarea, [contenteditable]')
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    input.focus()
  })
}

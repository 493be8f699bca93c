import MiniSearch from './minisearch.js'

const SHOWN = 8
const EXCERPT = 110

const input = document.querySelector('#search')
const list = document.querySelector('#results')
const state = document.querySelector('#search-state')
let opened
let chosen = -1

/** The index is fetched and built when somebody begins to search; after a failure the next search tries again. */
async function open() {
  const response = await fetch('/docs/assets/search.json')
  if (!response.ok) throw new Error(`the index was answered with ${response.status}`)
  const search = new MiniSearch({
    fields: ['heading', 'page', 'body'],
    storeFields: ['heading', 'page', 'body'],
    searchOptions: { boost: { heading: 4, page: 2 }, prefix: true, fuzzy: term => (term.length > 4 ? 0.2 : false), combineWith: 'AND' },
  })
  search.addAll(await response.json())
  return search
}

function load() {
  opened ??= open().catch(error => {
    opened = undefined
    throw error
  })
  return opened
}

/** The part of the text around the first word that was found. */
function excerptOf(body, terms) {
  const lower = body.toLowerCase()
  const first = Math.min(...terms.map(term => lower.indexOf(term)).filter(at => at >= 0), body.length)
  const from = first === body.length ? 0 : Math.max(0, body.lastIndexOf(' ', Math.max(0, first - 30)))
  const text = body.slice(from, from + EXCERPT).trim()
  return `${from > 0 ? '… ' : ''}${text}${from + EXCERPT < body.length ? ' …' : ''}`
}

function optionOf({ id, heading, page, body, terms }, i) {
  const link = document.createElement('a')
  link.id = `result-${i}`
  link.href = id
  link.tabIndex = -1
  link.role = 'option'
  link.setAttribute('aria-selected', 'false')
  for (const [name, text] of [
    ['strong', heading],
    ['small', page],
    ['span', excerptOf(body, terms)],
  ]) {
    const part = document.createElement(name)
    part.textContent = text
    link.append(part)
  }
  const item = document.createElement('li')
  item.role = 'presentation'
  item.append(link)
  return item
}

function show(results, told = '') {
  list.replaceChildren(...results.map(optionOf))
  state.textContent = told
  setOpen(results.length > 0)
}

function setOpen(isOpen) {
  chosen = -1
  list.hidden = !isOpen
  input.setAttribute('aria-expanded', String(isOpen))
  input.removeAttribute('aria-activedescendant')
}

function choose(step) {
  const options = [...list.querySelectorAll('[role=option]')]
  if (options.length === 0) return
  const next = list.hidden ? 0 : (chosen + step + options.length) % options.length
  setOpen(true)
  chosen = next
  for (const [i, option] of options.entries()) option.setAttribute('aria-selected', String(i === chosen))
  options[chosen].scrollIntoView({ block: 'nearest' })
  input.setAttribute('aria-activedescendant', options[chosen].id)
}

async function find() {
  const text = input.value.trim()
  if (text === '') return show([])
  try {
    const search = await load()
    if (text !== input.value.trim()) return
    const results = search.search(text).slice(0, SHOWN)
    show(results, results.length === 0 ? 'Nothing found' : '')
  } catch {
    show([], 'The search cannot be loaded')
  }
}

function onKey(event) {
  if (event.key === 'ArrowDown') choose(1)
  else if (event.key === 'ArrowUp') choose(chosen === -1 ? 0 : -1)
  else if (event.key === 'Escape') setOpen(false)
  else if (event.key === 'Enter' && !list.hidden && !event.isComposing) list.querySelectorAll('a')[Math.max(0, chosen)]?.click()
  else return
  if (event.key !== 'Escape') event.preventDefault()
}

export function startSearch() {
  const whole = input.closest('search')
  input.addEventListener('focus', () => load().catch(() => {}))
  input.addEventListener('input', find)
  input.addEventListener('keydown', onKey)
  list.addEventListener('click', () => setOpen(false))
  document.addEventListener('click', event => {
    if (!whole.contains(event.target)) setOpen(false)
  })
  whole.addEventListener('focusout', event => {
    if (event.relatedTarget && !whole.contains(event.relatedTarget)) setOpen(false)
  })
  document.addEventListener('keydown', event => {
    const isTyping = event.target.matches('input, textarea, [contenteditable]')
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    input.focus()
  })
}

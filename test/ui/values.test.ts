import { linesOf, matchesIn, partsOf } from '../../src/ui/json/text-lines.ts'
import { isMarkdown } from '../../src/ui/markdown/syntax.ts'
import { expectNoSidewaysScroll } from './layout.ts'
import { newOrganization, type Organization } from './organization.ts'
import { open } from './requests.ts'
import { answered } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

const MARKDOWN = `## Warranty

The device is under warranty for **24 months**. See [the terms](https://evil.example/terms) or [this](javascript:alert(1)).
First line
second line with \`serial_number\` and <b onmouseover="window.__pwned='ran'">a tag</b>.

![A pixel](https://tracker.example/pixel.png)

| Plan | Months |
| ---- | -----: |
| gold | 24     |

1. Open the app
2. Press \u202Ereset\u202C

> Quoted

\`\`\`
<script>window.__pwned='ran'</script>
\`\`\``

/** 300 KB in lines of varying lengths, with only two matches. */
const LONG = `${`${'lorem ipsum '.repeat(400)}\n`.repeat(30)}the needle\n${'dolor '.repeat(25_000)}The Needle`

const DEEP = `${'> '.repeat(2_000)}deep`

let organization: Organization
const spans: Record<'markdown' | 'long' | 'deep' | 'object', string> = { markdown: '', long: '', deep: '', object: '' }

test.beforeAll(async () => {
  organization = await newOrganization()
  const outputs = {
    markdown: MARKDOWN,
    long: LONG,
    deep: DEEP,
    object: { answer: MARKDOWN, note: 'She said "no"', id: '__init__' },
  }
  for (const [index, name] of (['markdown', 'long', 'deep', 'object'] as const).entries()) {
    const trace = answered(index + 1, { output: outputs[name] })
    await organization.post(trace.events)
    spans[name] = trace.span_id
  }
})

test.beforeEach(({ context }) => signIn(context, organization.key))

const at = (name: keyof typeof spans) => `/review?span=${spans[name]}&project=${organization.project.slug}`

test('Markdown is rendered without loading or running anything', async ({ page }) => {
  const requested: string[] = []
  page.on('request', request => requested.push(request.url()))
  await open(page, at('markdown'))
  const output = page.getByRole('region', { name: 'Output', exact: true })
  await expect(output.locator('strong')).toHaveText('24 months')
  await expect(output.getByRole('table')).toContainText('gold')
  await expect(output.getByRole('listitem').first()).toHaveText('Open the app')
  const link = output.getByRole('link', { name: 'the terms' })
  await expect(link).toHaveAttribute('rel', 'noopener noreferrer nofollow')
  await expect(output).toContainText('the terms (evil.example)')
  await expect(output).toContainText('this (javascript:alert(1))')
  await expect(output).toContainText(`<b onmouseover="window.__pwned='ran'">a tag</b>`)
  await expect(output).toContainText(`<script>window.__pwned='ran'</script>`)
  await expect(output).toContainText('U+202E')
  await expect(output.getByRole('link', { name: 'Image: A pixel' })).toBeVisible()
  await expect(output.locator('img, script, a[href^="javascript:" i], [onmouseover]')).toHaveCount(0)
  // Headings in the value aren't headings of the page.
  await expect(output.getByRole('heading', { name: 'Warranty' })).toHaveCount(0)
  expect(requested.filter(url => url.includes('example'))).toEqual([])

  await output.getByText('Source', { exact: true }).click()
  await expect(output).toContainText('**24 months**')
  await expect(output.locator('strong')).toHaveCount(0)
})

test('text in an object is rendered as Markdown, and the object as JSON', async ({ page }) => {
  await open(page, at('object'))
  const output = page.getByRole('region', { name: 'Output', exact: true })
  await expect(output.locator('strong')).toHaveText('24 months')
  await expect(output).toContainText('__init__')
  await output.getByText('JSON', { exact: true }).click()
  await expect(output).toContainText('"id": "__init__"')
  await output.getByRole('button', { name: 'Find in the output' }).click()
  await output.getByRole('textbox', { name: 'Find in the output' }).fill('said "no"')
  await expect(output.getByRole('status')).toHaveText('1 of 1')
})

test('Markdown that is nested too deeply is shown unformatted', async ({ page }) => {
  await open(page, at('deep'))
  await expect(page.getByRole('region', { name: 'Output', exact: true })).toContainText('> > > >')
})

test('a long value can be searched in place', async ({ page }) => {
  await open(page, at('long'))
  const output = page.getByRole('region', { name: 'Output', exact: true })
  await expect(output).toContainText(`${LONG.length.toLocaleString('en-GB')} characters`)
  await output.getByRole('button', { name: 'Find in the output' }).click()
  const field = output.getByRole('textbox', { name: 'Find in the output' })
  await field.fill('NEEDLE')
  await expect(output.getByRole('status')).toHaveText('1 of 2')
  await expect(output.locator('mark[data-current]')).toHaveText('needle')
  await expect(output.locator('mark[data-current]')).toBeInViewport()
  await field.press('Enter')
  await expect(output.getByRole('status')).toHaveText('2 of 2')
  await expect(output.locator('mark[data-current]')).toHaveText('Needle')
  await expect(output.locator('mark[data-current]')).toBeInViewport()
  await field.press('Shift+Enter')
  await expect(output.getByRole('status')).toHaveText('1 of 2')
  // The inbox's keyboard shortcuts don't work while the search has the focus.
  await field.press('Control+Enter')
  await field.fill('nothing like this')
  await expect(output.getByRole('status')).toHaveText('No matches')
  await field.press('Escape')
  await expect(field).toBeHidden()
  await expect(page.getByRole('button', { name: /^Accept/ })).toBeEnabled()
})

test('a box with hidden content says so, and can show all of it', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 500 })
  await open(page, at('markdown'))
  const box = page.getByRole('region', { name: 'the output', exact: true })
  const isCut = () => box.evaluate(element => element.scrollHeight > element.clientHeight + 1)
  expect(await isCut()).toBe(true)
  const output = page.getByRole('region', { name: 'Output', exact: true })
  await output.getByRole('button', { name: 'Show all' }).click()
  expect(await isCut()).toBe(false)
  await expectNoSidewaysScroll(page)
  await output.getByRole('button', { name: 'Show less' }).click()
  expect(await isCut()).toBe(true)
})

test('text without Markdown keeps every character', () => {
  for (const text of ['__init__', 'snake_case_name', '2 * 3 * 4', 'a\nb', '*', 'C:\\*.txt', '[1] and [2]', '-5']) {
    expect(isMarkdown(text), text).toBe(false)
  }
  for (const text of ['**a**', '- a', '1. a', '# a', '> a', '`a`', '[a](b)', '```\na\n```', '| a | b |']) {
    expect(isMarkdown(text), text).toBe(true)
  }
  expect(isMarkdown(`**a**${'a'.repeat(20_000 - 5)}`)).toBe(true)
  expect(isMarkdown(`**a**${'a'.repeat(20_000 - 4)}`)).toBe(false)
})

test('the lines contain the whole text, and a match can span several lines', () => {
  const text = `a\n\n${'x'.repeat(1_999)}\u{1F600}${'y'.repeat(2_500)}\n`
  const lines = linesOf(text)
  expect(lines.every(line => line.text.length <= 2_000 && text.startsWith(line.text, line.start))).toBe(true)
  expect(lines.map(line => line.text).join('')).toBe(text.replaceAll('\n', ''))
  expect(lines.map(line => line.text).filter(line => line === '')).toHaveLength(2)
  expect(lines.some(line => /[\ud800-\udbff]$/.test(line.text))).toBe(false)
  const matches = matchesIn(text, 'X\u{1F600}Y')
  expect(matches).toEqual([{ start: 2_001, end: 2_005 }])
  const found = lines.flatMap(line => partsOf(line, matches).filter(({ match }) => match === 0))
  expect(found.map(part => part.text).join('')).toBe('x\u{1F600}y')
  expect(matchesIn('a.b a+b', 'a.b')).toHaveLength(1)
  expect(matchesIn('a'.repeat(20_000), 'a')).toHaveLength(10_000)
})

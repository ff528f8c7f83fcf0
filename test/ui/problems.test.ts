import type { Page } from '@playwright/test'
import * as v from 'valibot'
import { newOrganization, type Organization } from './organization.ts'
import { answered, STEP } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

/*
 * A project with two problems: one with three corrections of the same error type, and one with a correction that has no
 * error type.
 */

const TYPE = 'context_misinterpretation'
const NAME = 'Context misinterpreted'
const Detail = v.object({ versions: v.array(v.object({ id: v.string() })) })

interface Board extends Organization {
  promptId: string
  versionIds: string[]
}

let board: Board

test.beforeAll(async () => {
  const organization = await newOrganization()
  const { make, call, post, project } = organization
  const prompt = { projectSlug: project.slug, stepId: STEP, content: 'Answer.' }
  const promptId = await make('/api/prompts', prompt)
  await make(`/api/prompts/${promptId}/versions`, { content: 'Answer from the context.', note: 'Use the context' })
  const { versions } = v.parse(Detail, await call('GET', `/api/prompts/${promptId}`))
  const samples = Array.from({ length: 12 }, (_, index) => answered(index))
  await post(samples.flatMap(({ events }) => events))
  for (const [index, { span_id }] of samples.entries()) {
    const isRight = index >= 4
    const correction = {
      decision: 'correct',
      approvedOutput: { answer: `The warranty lasts ${index + 24} months.`, months: index + 24 },
      comment: `The context says ${index + 24}.`,
      ...(index < 3 && { errorType: TYPE }),
    }
    await call('PUT', `/api/spans/${span_id}/review`, isRight ? { decision: 'accept' } : correction)
  }
  board = { ...organization, promptId, versionIds: versions.map(({ id }) => id) }
})

const link = (page: Page, name: string) => page.getByRole('main').getByRole('link', { name, exact: true })
const state = (page: Page) => page.getByRole('status', { name: 'State' })
const rows = (page: Page) => page.getByRole('table', { name: 'Spans' }).getByRole('row')

async function openBoard(page: Page, path = '/problems'): Promise<void> {
  await page.goto(`${path}?project=${board.project.slug}`)
  await expect(link(page, NAME)).toBeVisible()
}

async function openProblem(page: Page): Promise<void> {
  await openBoard(page)
  await link(page, NAME).click()
  await expect(page.getByRole('heading', { level: 1, name: NAME })).toBeVisible()
}

test('each number on the board and on a problem’s page links to that many spans', async ({ page, context }) => {
  await signIn(context, board.ownerKey)
  await openBoard(page)
  const open = async () => {
    const links = page.locator('main a[href^="/spans?"]')
    await expect(links.first()).toBeVisible()
    return Promise.all(
      (await links.all()).map(async each => ({
        text: (await each.textContent()) ?? '',
        href: (await each.getAttribute('href')) ?? '',
      })),
    )
  }
  const shown = await open()
  await link(page, NAME).click()
  await expect(page.getByRole('heading', { level: 1, name: NAME })).toBeVisible()
  shown.push(...(await open()))
  expect(shown.map(({ text }) => text)).toEqual(['3', '25%', '1', '8%', '3', '25%'])
  for (const [index, { href }] of shown.entries()) {
    await page.goto(href)
    await expect(rows(page)).toHaveCount(1 + ([3, 3, 1, 1, 3, 3][index] ?? 0))
  }
  await expect(page.getByRole('button', { name: `Problem: ${NAME} in ${STEP}` })).toBeVisible()
})

test('“Fix next” links to the problem', async ({ page, context }) => {
  await signIn(context, board.ownerKey)
  await page.goto(`/?project=${board.project.slug}`)
  await link(page, `Fix “${NAME}”`).click()
  await expect(page.getByRole('heading', { level: 1, name: NAME })).toBeVisible()
  await expect(state(page)).toHaveText('Open')
})

test('J and K go through the board and the examples', async ({ page, context }) => {
  await signIn(context, board.ownerKey)
  await openBoard(page)
  const { keyboard } = page
  await keyboard.press('j')
  await expect(link(page, NAME)).toBeFocused()
  await keyboard.press('j')
  await expect(link(page, 'No error type')).toBeFocused()
  await keyboard.press('k')
  await keyboard.press('Enter')
  const examples = page.getByRole('region', { name: 'Examples' })
  await expect(examples.getByRole('status')).toHaveText('1 of 3')
  await expect(examples).toContainText('The context says 26.')
  await keyboard.press('j')
  await expect(examples.getByRole('status')).toHaveText('2 of 3')
  await expect(examples).toContainText('The context says 25.')
  await expect(examples.getByRole('region', { name: 'Wrong and approved output' })).toContainText(
    'The warranty lasts 25 months.',
  )
  await page.reload()
  await expect(examples.getByRole('status')).toHaveText('2 of 3')
  await keyboard.press('k')
  await expect(examples.getByRole('status')).toHaveText('1 of 3')
  await examples.getByRole('link', { name: 'Open in its trace' }).click()
  await expect(page).toHaveURL(/\/traces\/[^?]+\?.*span=/)
})

test('a problem can be assigned, and dismissed with a note, and both can be undone', async ({ page, context }) => {
  const ada = await board.reviewer('Ada')
  await signIn(context, ada.key)
  await openProblem(page)
  await page.getByRole('button', { name: 'Assign to me' }).click()
  const progress = page.getByRole('list', { name: 'Progress' })
  await expect(progress).toContainText('Ada')
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(progress).toContainText('Nobody is assigned.')

  await page.getByRole('button', { name: 'Dismiss', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByRole('button', { name: 'Dismiss' })).toBeDisabled()
  await dialog.getByLabel("Why it isn't worth fixing").fill('Only in a test run')
  await dialog.getByRole('button', { name: 'Dismiss' }).click()
  await expect(state(page)).toHaveText('Dismissed')
  await expect(page.getByText('Only in a test run')).toBeVisible()
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(state(page)).toHaveText('Open')
  await expect(page.getByText('Only in a test run')).toBeHidden()
})

test('a linked version is the candidate, and can be unlinked', async ({ page, context }) => {
  await signIn(context, board.ownerKey)
  await openProblem(page)
  const progress = page.getByRole('list', { name: 'Progress' })
  await page.getByRole('button', { name: 'Link a version' }).click()
  await page.getByRole('combobox', { name: 'Version' }).click()
  await page.getByRole('option', { name: 'Version 2: Use the context' }).click()
  await expect(state(page)).toHaveText('Fixing')
  await expect(progress).toContainText('No finished experiment has tried version 2 yet.')
  await page.getByRole('link', { name: 'Run an experiment' }).click()
  await expect(page.getByRole('combobox', { name: 'Prompt version' })).toHaveValue('Version 2: Use the context')
  await page.goBack()
  await page.getByRole('button', { name: 'Unlink' }).click()
  await expect(state(page)).toHaveText('Open')
})

test('a read-only key sees the problem, and no buttons that change it', async ({ page, context }) => {
  const { key } = await board.reviewer('Reader', ['read'])
  await signIn(context, key)
  await openProblem(page)
  await expect(page.getByRole('list', { name: 'Progress' })).toContainText('Someone with the “manage” scope can link')
  for (const name of [/^Assign/, 'Dismiss', 'Link a version', 'Write a new version']) {
    await expect(page.getByRole('button', { name }).or(page.getByRole('link', { name }))).toHaveCount(0)
  }
})

test('the board can be filtered by state, and says if a state has no problems', async ({ page, context }) => {
  await signIn(context, board.ownerKey)
  await openBoard(page)
  await page.getByRole('navigation', { name: 'States' }).getByRole('link', { name: 'Verified' }).click()
  await expect(page.getByRole('heading', { name: 'No problems have a verified fix' })).toBeVisible()
  await page.route(/\/api\/problems\?/, route =>
    route.fulfill({ status: 403, json: { error: 'Not allowed', code: 'x' } }),
  )
  await page.reload()
  await expect(page.getByRole('alert')).toContainText("Couldn't load the problems")
})

test('the palette finds problems by name', async ({ page, context }) => {
  await signIn(context, board.ownerKey)
  await openBoard(page)
  await page.keyboard.press('ControlOrMeta+k')
  await expect(page.getByRole('textbox', { name: 'Go to' })).toBeFocused()
  await page.keyboard.insertText('misinterp')
  const found = page.getByRole('dialog').getByRole('group', { name: 'Problems' }).getByRole('button')
  await expect(found).toHaveCount(1)
  await found.click()
  await expect(page.getByRole('heading', { level: 1, name: NAME })).toBeVisible()
})

const Listed = v.object({ datasets: v.array(v.object({ id: v.string(), stepId: v.string() })) })
const Board = v.object({ problems: v.array(v.object({ id: v.string(), errorType: v.nullable(v.string()) })) })
const Items = v.object({
  items: v.array(
    v.object({
      id: v.string(),
      decision: v.string(),
      errorType: v.nullable(v.string()),
      expected: v.array(v.unknown()),
    }),
  ),
})

test('each figure in a proof links to exactly that many items', async ({ page, context }) => {
  const { call, make, project, ownerKey, versionIds } = board
  const selector = `projectSlug=${project.slug}`
  const { datasets } = v.parse(Listed, await call('GET', `/api/datasets?${selector}`))
  const datasetId = datasets.find(({ stepId }) => stepId === STEP)?.id ?? ''
  const { items } = v.parse(Items, await call('GET', `/api/datasets/${datasetId}/items`))
  for (const { id } of items) await call('PATCH', `/api/datasets/${datasetId}/items/${id}`, { split: 'test' }, ownerKey)
  const { problems } = v.parse(Board, await call('GET', `/api/problems?${selector}`))
  const problemId = problems.find(({ errorType }) => errorType === TYPE)?.id
  const [candidateVersionId] = versionIds.slice(-1)
  await call('PATCH', `/api/problems/${problemId}`, { candidateVersionId }, ownerKey)
  const experimentId = await make('/api/experiments', {
    projectSlug: project.slug,
    datasetId,
    split: 'test',
    runner: 'client',
    promptVersionId: candidateVersionId,
  })
  const failing = items.find(({ errorType }) => errorType === TYPE)?.id
  const results = items.map(({ id, expected: [value] }) => ({
    itemId: id,
    output: id === failing ? { answer: 'Ask the shop.', months: 0 } : value,
  }))
  await call('POST', `/api/experiments/${experimentId}/results`, { results }, ownerKey)

  await signIn(context, ownerKey)
  await openBoard(page)
  const fixing = page.getByRole('listitem').filter({ hasText: 'Version 2 fixes 2 of 3 test items.' })
  await expect(fixing).toBeVisible()
  const listed = page.getByRole('list', { name: 'Items' }).getByRole('listitem')
  for (const [name, count] of [
    ['2 items fixed', 2],
    ['3 items for this problem', 3],
  ] as const) {
    await fixing.getByRole('link', { name }).click()
    await expect(listed).toHaveCount(count)
    await page.goBack()
  }
  await link(page, NAME).click()
  await page.getByRole('list', { name: 'Progress' }).getByRole('link', { name: '2 items fixed' }).click()
  await expect(listed).toHaveCount(2)
  await expect(page.getByText("Items: only this problem's")).toBeVisible()
})

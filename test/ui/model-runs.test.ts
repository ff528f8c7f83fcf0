import * as v from 'valibot'
import type { Reply } from '../support/model-wire.ts'
import { expectAccessibleDialog, expectAccessibleOnEveryScreen } from './accessibility.ts'
import { type OwnModel, ROOT_CAUSE, useOwnModel } from './model.ts'
import { answer, type SampleProject, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

/**
 * The replies are right for the corrected item and the first item, and slow and wrong for the rest. The first reply is
 * the root cause that the sample project asks for.
 */
const REPLIES: readonly Reply[] = [
  ROOT_CAUSE,
  { when: 'Question 0:', answer: answer(0) },
  { when: 'Question 11:', answer: { answer: 'It lasts 24 months.', months: 24 } },
  { answer: { answer: 'It lasts 99 months.', months: 99 }, delayMs: 2_000 },
]

const Key = v.object({ key: v.string() })
const Items = v.object({ items: v.array(v.object({ id: v.string() })) })

let sample: SampleProject
let model: OwnModel

test.describe.configure({ mode: 'serial' })

test.beforeAll(async () => {
  test.setTimeout(120_000)
  model = await useOwnModel('runs', REPLIES, { ATTRIBUTION_INPUT_PRICE: '2', ATTRIBUTION_OUTPUT_PRICE: '8' })
  sample = await sampleProject()
})

test.afterAll(() => model.close())

test('a person lets the model run an experiment, using the keyboard, and sees its progress and cost', async ({
  page,
  context,
}) => {
  await signIn(context, sample.ownerKey)
  await page.goto(`/experiments/new?project=${sample.project.slug}`)
  await expect(page.getByRole('combobox', { name: 'Prompt version' })).toHaveValue(/^Version 2/)
  await page.getByText('All', { exact: true }).click()
  await page.getByRole('radio', { name: 'Your code' }).focus()
  await page.keyboard.press('ArrowRight')
  await expect(page.getByRole('radio', { name: 'The model' })).toBeChecked()
  await expect(
    page.getByText(
      "openai/runs runs the step. Countersign sends the prompt and each item's input and state, unchanged, to the model's provider",
    ),
  ).toBeVisible()
  const cost = page.getByLabel('Maximum cost in US dollars')
  await page.getByLabel('Model', { exact: true }).fill('openai/other')
  await expect(cost).toBeDisabled()
  await expect(page.getByText("The cost can't be limited, because this model's price isn't known")).toBeVisible()
  await page.getByLabel('Model', { exact: true }).fill('anthropic/other')
  await page.keyboard.press('Enter')
  await expect(page.getByText('must be a model from the configured provider: openai/<model>')).toBeVisible()
  await page.getByLabel('Model', { exact: true }).fill('')
  await cost.fill('2.5')
  await page.getByLabel('Name').fill('By the model')
  await expectAccessibleOnEveryScreen(page)
  await page.getByLabel('Name').press('Enter')

  await expect(page.getByRole('region', { name: 'Progress' })).toContainText(/openai\/runs is running the items/)
  await expect(page.getByRole('region', { name: 'Run it' })).toHaveCount(0)
  await expect(
    page.getByText(/openai\/runs ran the items\. Cost: (US)?\$0\.01 \(limit: (US)?\$2\.50\)\./),
  ).toBeVisible()
  await expect(page.getByRole('region', { name: 'Progress' })).toHaveCount(0)
  await expect(page.getByRole('link', { name: '2 passed' })).toBeVisible()
  await expectAccessibleOnEveryScreen(page)
})

test('a run stops if its next call could exceed the maximum cost, and the report says why', async ({
  page,
  context,
}) => {
  const { make, project, datasetId } = sample
  const fields = { projectSlug: project.slug, datasetId, runner: 'model', maxCostUsd: 0.001 }
  const id = await make('/api/experiments', fields)
  await signIn(context, sample.ownerKey)
  await page.goto(`/experiments/${id}?project=${project.slug}`)
  await expect(page.getByText("The experiment's maxCostUsd of $0.001 was used up.", { exact: true })).toBeVisible()
  await expect(
    page.getByText(/openai\/runs ran the items\. Cost: (US)?\$0\.00 \(limit: (US)?\$0\.0010?\)\./),
  ).toBeVisible()
  await expect(page.getByRole('link', { name: '5 errors' })).toBeVisible()
})

test('a person tries a version on one item, and sees its output next to the expected one', async ({
  page,
  context,
}) => {
  const { call, project, promptId, datasetId } = sample
  const kofi = await sample.reviewer('Kofi')
  // The newest item is corrected, but isn't in the test split.
  const { items } = v.parse(Items, await call('GET', `/api/datasets/${datasetId}/items`))
  const oldest = items.at(-1)?.id ?? ''
  const correction = {
    decision: 'correct',
    approvedOutput: { answer: 'None', months: 0 },
    errorType: 'reasoning_error',
  }
  await call('PUT', `/api/spans/${oldest}/review`, correction)
  await call('PATCH', `/api/datasets/${datasetId}/items/${oldest}`, { split: 'test' })
  await signIn(context, kofi.key)
  await page.goto(`/prompts/${promptId}?project=${project.slug}`)
  await page.getByRole('button', { name: 'Try on one item' }).focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Try version 2 on one item' })
  const item = dialog.getByRole('combobox', { name: 'Item' })
  await expect(item).toHaveValue(/^Corrected, test: .*Question 0:/)
  await expect(dialog).toContainText("the prompt and the item's input")
  await item.click()
  await page.getByRole('option', { name: /^Corrected.*Question 11:/ }).click()
  await expectAccessibleDialog(page)
  await dialog.getByRole('button', { name: 'Run' }).focus()
  await page.keyboard.press('Enter')
  const result = dialog.getByRole('region', { name: 'Result' })
  await expect(result.getByRole('status')).toContainText('Passed')
  await expect(result.getByRole('region', { name: 'Expected', exact: true })).toContainText('It lasts 24 months.')
  await expect(result.getByRole('region', { name: 'Candidate', exact: true })).toContainText('As expected')
  await expectAccessibleDialog(page)

  await item.click()
  await page.getByRole('option', { name: /Question 3:/ }).click()
  await expect(result).toHaveCount(0)
  await dialog.getByRole('button', { name: 'Run' }).click()
  await expect(result.getByRole('region', { name: 'Progress' })).toBeVisible()
  await expect(result.getByRole('status')).toContainText('Failed')
  await expect(result.getByRole('region', { name: 'Candidate', exact: true })).toContainText('It lasts 99 months.')
  await expectAccessibleOnEveryScreen(page)
  await result.getByRole('link', { name: 'Open the report' }).click()
  await expect(page.getByRole('heading', { name: 'Version 2 on one item' })).toBeVisible()
  await expect(page.getByText('openai/runs ran the item.')).toBeVisible()
})

test("a user who can't review sees why they can't try a version", async ({ page, context }) => {
  const { call, project, promptId } = sample
  const fields = { name: 'Reader', projectSlug: project.slug, scopes: ['read'] }
  const { key } = v.parse(Key, await call('POST', '/api/api-keys', fields, sample.ownerKey))
  await signIn(context, key)
  await page.goto(`/prompts/${promptId}?project=${project.slug}`)
  await page.getByRole('button', { name: 'Try on one item' }).click()
  await expect(page.getByRole('dialog')).toContainText("You can't try versions")
})

test('a report says why a run is waiting, and when it will continue', async ({ page, context }) => {
  await model.replyWith([{ status: 429, headers: { 'retry-after': '300' } }])
  const { make, project, datasetId } = sample
  const id = await make('/api/experiments', { projectSlug: project.slug, datasetId, runner: 'model' })
  await signIn(context, sample.ownerKey)
  await page.goto(`/experiments/${id}?project=${project.slug}`)
  const progress = page.getByRole('region', { name: 'Progress' })
  await expect(progress).toContainText(/The run is waiting.*429.*It will continue on .*\d/)
  await expect(progress).toContainText('openai/runs is running the items. Cost so far:')
  await expectAccessibleOnEveryScreen(page)
})

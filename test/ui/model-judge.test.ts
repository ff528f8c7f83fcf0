import * as v from 'valibot'
import type { Reply } from '../support/model-wire.ts'
import { expectAccessibleDialog, expectAccessibleOnEveryScreen } from './accessibility.ts'
import { type OwnModel, ROOT_CAUSE, useOwnModel } from './model.ts'
import { type SampleProject, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

/**
 * The model says that outputs with "About" are different and that all others are the same. The first reply is the root
 * cause that the sample project asks for.
 */
const REPLIES: readonly Reply[] = [
  ROOT_CAUSE,
  { when: 'About', answer: { reason: 'It says about, which is not exact.', same: false } },
  { answer: { reason: 'Both name the months <b>exactly</b>.', same: true } },
]

let sample: SampleProject
let model: OwnModel

test.describe.configure({ mode: 'serial' })

test.beforeAll(async () => {
  test.setTimeout(120_000)
  model = await useOwnModel('judge', REPLIES)
  sample = await sampleProject()
})

test.afterAll(() => model.close())

const Made = v.object({ id: v.string() })
const Items = v.object({
  items: v.array(v.object({ id: v.string(), expected: v.tupleWithRest([v.looseObject({})], v.unknown()) })),
})

/** Finishes an experiment with an unjudged output for each item. Two of the five say "About". */
async function newExperiment(fields: object = {}): Promise<string> {
  const { make, call, project, datasetId } = sample
  const id = await make('/api/experiments', {
    projectSlug: project.slug,
    datasetId,
    runner: 'client',
    name: 'Other words',
    ...fields,
  })
  const { items } = v.parse(Items, await call('GET', `/api/experiments/${id}/items`))
  const results = items.map(({ id, expected: [value] }, index) => ({
    itemId: id,
    output: { ...value, answer: `${index < 2 ? 'About' : 'Exactly'} that many months.` },
  }))
  await call('POST', `/api/experiments/${id}/results`, { results })
  return id
}

test("a person asks the model, sees that its answers are marked as a model's, and decides", async ({
  page,
  context,
}) => {
  const id = await newExperiment()
  const kofi = await sample.reviewer('Kofi')
  await signIn(context, kofi.key)
  await page.goto(`/experiments/${id}?project=${sample.project.slug}`)
  const judge = page.getByRole('region', { name: 'Model judge' })
  await expect(judge).toContainText('5 not judged')
  await judge.getByRole('button', { name: 'Ask the model' }).click()
  const dialog = page.getByRole('dialog', { name: 'Ask the model about 5 items?' })
  await expect(dialog).toContainText("the input, the expected outputs, and the candidate's output")
  await dialog.getByRole('button', { name: 'Ask the model' }).click()
  await expect(judge).toContainText('3 same, 2 different, 0 not judged')
  await expect(page.getByRole('link', { name: '5 unjudged' })).toBeVisible()
  await page.getByRole('button', { name: 'Show them' }).click()
  const items = page.getByRole('list', { name: 'Items' })
  await expect(items.getByRole('button', { name: /^Unjudged Model: same/ })).toHaveCount(3)
  await expect(items.getByRole('button', { name: /^Unjudged Model: different/ })).toHaveCount(2)

  await page.getByRole('link', { name: '3 same' }).click()
  await expect(items.getByRole('listitem')).toHaveCount(3)
  const judgment = items.getByRole('region', { name: "Model's judgment" })
  await expect(judgment).toContainText(
    'A model says that the output means the same thing. Both name the months <b>exactly</b>.',
  )
  await expect(judgment).toContainText('openai/judge')
  await page.keyboard.press('a')
  await expect(items.getByRole('button', { name: /^Passed Model: same/ })).toHaveCount(1)
  await page.keyboard.press('r')
  await expect(items.getByRole('button', { name: /^Failed Regressed Model: same/ })).toHaveCount(1)
  await expect(judge).toContainText('The model agrees with people on 50% of 2 items')
  await judge.getByRole('link', { name: '1 same but rejected' }).click()
  await expect(items.getByRole('listitem')).toHaveCount(1)
  await expect(page.getByText('Person: rejected')).toBeVisible()
  await expectAccessibleOnEveryScreen(page)
})

test('an owner lets the model judge for the gate, and sees how often it agrees with people', async ({
  page,
  context,
}) => {
  const { call, project, promptId } = sample
  await signIn(context, sample.ownerKey)
  await page.goto(`/prompts/${promptId}?project=${project.slug}`)
  await page.getByRole('button', { name: 'Set a gate' }).click()
  await page.getByLabel('Minimum judged items').fill('5')
  await page.getByLabel('Split').fill('train')
  await page.getByRole('switch', { name: 'Let a model judge unjudged items' }).click({ force: true })
  await expectAccessibleDialog(page)
  await page.getByRole('button', { name: 'Save gate' }).click()
  const gate = page.getByRole('region', { name: 'Gate' })
  await expect(gate).toContainText("The model's judgment counts for items that nobody has judged.")
  await page.reload()
  await page.getByRole('button', { name: 'Change the gate' }).click()
  await expect(page.getByRole('switch', { name: 'Let a model judge unjudged items' })).toBeChecked()
  await page.keyboard.press('Escape')

  await expect(gate).toContainText('The model agrees with people on 50% of 2 items')
  await gate.getByRole('link', { name: '1 same but rejected' }).click()
  const outputs = page.getByRole('table', { name: 'Judged outputs' })
  await expect(outputs.getByRole('row')).toHaveCount(2)
  await expect(outputs).toContainText('Model: same')
  await expect(outputs).toContainText('Rejected by Kofi')
  await expectAccessibleOnEveryScreen(page)
  await outputs.getByRole('link', { name: 'Show the item' }).click()
  await expect(page.getByRole('list', { name: 'Items' }).getByRole('listitem')).toHaveCount(1)

  const version = v.parse(Made, await call('POST', `/api/prompts/${promptId}/versions`, { content: 'Say how many.' }))
  const id = await newExperiment({ promptVersionId: version.id })
  await page.goto(`/experiments/${id}?project=${project.slug}`)
  await expect(page.getByText(/According to the model, \d unjudged items count as passed/)).toBeVisible()
  await expect(page.getByRole('region', { name: 'Model judge' })).toContainText('but the gate does')
})

import * as v from 'valibot'
import { answer, type SampleProject, STEP, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let sample: SampleProject

test.beforeAll(async () => {
  sample = await sampleProject()
})

const Key = v.object({ key: v.string() })
const Items = v.object({ items: v.array(v.object({ id: v.string(), recordedOutput: v.unknown() })) })

test('a person starts an experiment, follows its progress, and finishes it', async ({ page, context }) => {
  await signIn(context, sample.ownerKey)
  await page.goto(`/experiments?project=${sample.project.slug}`)
  await page.getByRole('link', { name: 'New experiment' }).click()
  await expect(page.getByRole('combobox', { name: 'Prompt version' })).toHaveValue(/^Version 2/)
  await expect(page.getByRole('radio', { name: 'The model' })).toBeDisabled()
  await expect(page.getByText("The model can't run it. No model is configured.")).toBeVisible()
  await page.getByText('All', { exact: true }).click()
  await page.getByLabel('Name').fill('From the browser')
  await page.keyboard.press('Enter')

  const progress = page.getByRole('region', { name: 'Progress' }).getByRole('status')
  await expect(progress).toContainText('0 of 5')
  await expect(page.getByText('await countersign.experiment(')).toBeVisible()
  const id = new URL(page.url()).pathname.split('/').at(-1)
  const { items } = v.parse(Items, await sample.call('GET', `/api/experiments/${id}/items`))
  const results = items.slice(0, 2).map(item => ({ itemId: item.id, output: item.recordedOutput }))
  await sample.call('POST', `/api/experiments/${id}/results`, { results })
  await expect(progress).toContainText('2 of 5')

  await page.getByRole('button', { name: 'Finish' }).click()
  await expect(page.getByRole('dialog')).toContainText('3 items without a result will count as errors')
  await page.getByRole('dialog').getByRole('button', { name: 'Finish' }).click()
  await expect(progress).toBeHidden()
  await page.getByRole('link', { name: '3 errors' }).click()
  await expect(page.getByRole('list', { name: 'Items' }).getByRole('button', { name: /^Error/ })).toHaveCount(3)
  await page.getByRole('link', { name: 'Experiments' }).last().click()
  await expect(page.getByRole('row', { name: /From the browser.*Finished/ })).toBeVisible()
})

test('a report first shows the items that need a person, and the person accepts and rejects them from the keyboard', async ({
  page,
  context,
}) => {
  const [id] = sample.experimentIds
  const kofi = await sample.reviewer('Kofi')
  await signIn(context, kofi.key)
  await page.goto(`/experiments/${id}?project=${sample.project.slug}`)
  const items = page.getByRole('list', { name: 'Items' })
  const [unjudged, regressed] = [items.getByRole('listitem').nth(0), items.getByRole('listitem').nth(1)]
  await expect(unjudged.getByRole('button', { name: /^Unjudged/ })).toHaveAttribute('aria-expanded', 'true')
  await expect(unjudged.getByRole('region', { name: 'Expected', exact: true })).toContainText(answer(2).answer)
  await expect(unjudged.getByRole('region', { name: 'Candidate', exact: true })).toContainText('About 2 months.')
  const rate = page.getByRole('region', { name: 'Result' })
  await expect(rate).toContainText('25%')

  await page.keyboard.press('c')
  await page.keyboard.type('Says the same thing.')
  await page.keyboard.press('Escape')
  await page.keyboard.press('a')
  await expect(unjudged.getByRole('button', { name: /^Passed/ })).toBeVisible()
  await expect(rate).toContainText('40%')
  await expect(regressed.getByRole('button', { name: /^Failed Regressed/ })).toHaveAttribute('aria-expanded', 'true')
  await page.keyboard.press('k')
  await expect(unjudged).toContainText(/Kofi accepted this on .*: Says the same thing\./)
  await page.keyboard.press('r')
  await expect(unjudged.getByRole('button', { name: /^Failed Regressed/ })).toBeVisible()
  await expect(rate).toContainText('20%')
})

test("an experiment can't be reviewed with a pipeline's key, and the page says why", async ({ page, context }) => {
  const fields = { name: 'Runner', projectSlug: sample.project.slug, scopes: ['read', 'review'], actsAs: 'pipeline' }
  const { key } = v.parse(Key, await sample.call('POST', '/api/api-keys', fields, sample.ownerKey))
  await signIn(context, key)
  await page.goto(`/experiments/${sample.experimentIds[1]}?project=${sample.project.slug}&items=all`)
  await expect(page.getByText("you're signed in with a pipeline's key")).toBeVisible()
  await expect(page.getByRole('button', { name: 'Accept' })).toHaveCount(0)
})

test('two experiments are compared, item by item', async ({ page, context }) => {
  await signIn(context, sample.ownerKey)
  await page.goto(`/experiments/${sample.experimentIds[1]}?project=${sample.project.slug}`)
  await page.getByRole('combobox', { name: 'Compare with' }).click()
  await page.getByRole('option', { name: /^Shorter answers/ }).click()
  await expect(page.getByText('Too few differences to tell')).toBeVisible()
  const differences = page.getByRole('table', { name: 'Items that differ' })
  const row = differences.getByRole('row', { name: /Failed.*Passed/ })
  await row.getByRole('link', { name: 'Show this item in B' }).click()
  await expect(page.getByRole('heading', { name: 'Cite the doc' })).toBeVisible()
  await expect(page.getByRole('list', { name: 'Items' }).getByRole('listitem')).toHaveCount(1)
})

test('the URL contains the filters for experiments', async ({ page, context }) => {
  await signIn(context, sample.ownerKey)
  await page.goto(`/experiments?project=${sample.project.slug}&state=failed`)
  await expect(page.getByRole('heading', { name: 'No experiments match' })).toBeVisible()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.getByRole('combobox', { name: 'Dataset' }).click()
  await page.getByRole('option', { name: STEP, exact: true }).click()
  await expect(page).toHaveURL(/datasetId=/)
  await expect(page.getByRole('link', { name: 'Cite the doc', exact: true })).toBeVisible()
})

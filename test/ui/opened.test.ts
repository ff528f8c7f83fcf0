import type { Locator, Page } from '@playwright/test'
import { expectAccessible, expectAccessibleDialog } from './accessibility.ts'
import { open } from './requests.ts'
import { type SampleProject, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let sample: SampleProject

test.beforeAll(async () => {
  sample = await sampleProject()
})

interface Opened {
  name: string
  path: () => string
  act: (page: Page) => Promise<void>
  /** The element that appears as a result. */
  shown: (page: Page) => Locator
}

const press = (key: string) => (page: Page) => page.keyboard.press(key)
/** Waits until the inbox shows an item, because the item's keys don't work before that. Then presses a key. */
const pressOnItem = (key: string) => async (page: Page) => {
  await page.getByRole('button', { name: 'Accept' }).waitFor()
  await page.keyboard.press(key)
}
const click = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true }).click()
const dialog = (name: string) => (page: Page) => page.getByRole('dialog', { name })

const OPENED: readonly Opened[] = [
  { name: 'the command palette', path: () => '/settings', act: press('ControlOrMeta+k'), shown: dialog('Go to') },
  {
    name: "the inbox's keyboard shortcuts",
    path: () => '/review',
    act: pressOnItem('?'),
    shown: dialog('Keyboard shortcuts'),
  },
  {
    name: "an output's form",
    path: () => '/review',
    act: pressOnItem('e'),
    shown: page => page.getByRole('region', { name: 'Edit', exact: true }).getByLabel('answer'),
  },
  {
    name: 'a comment',
    path: () => '/review',
    act: pressOnItem('c'),
    shown: page => page.getByLabel('Comment', { exact: true }),
  },
  {
    name: "a trace's root cause",
    path: () => `/traces/${sample.traceId}`,
    act: page => page.getByRole('region', { name: 'Attribution' }).getByRole('button', { expanded: false }).click(),
    shown: page => page.getByRole('heading', { name: 'Evidence' }),
  },
  {
    name: 'the feedback on a span',
    path: () => `/traces/${sample.traceId}?span=${sample.spanId}`,
    act: page => page.getByRole('tab', { name: 'Feedback' }).click(),
    shown: page => page.getByText('It is 24 months.'),
  },
  {
    name: 'a new version',
    path: () => `/prompts/${sample.promptId}`,
    act: click('New version'),
    shown: page => page.getByRole('textbox', { name: 'Content' }),
  },
  {
    name: 'an evaluator with a path',
    path: () => `/datasets/${sample.datasetId}`,
    act: async page => {
      await click('Evaluator')(page)
      await click('Add a path')(page)
    },
    shown: page => page.getByRole('textbox', { name: 'Path' }),
  },
  {
    name: 'an import',
    path: () => `/datasets/${sample.datasetId}`,
    act: click('Import examples'),
    shown: dialog('Import examples'),
  },
  {
    name: "an experiment's numbers",
    path: () => `/experiments/${sample.experimentIds[0]}`,
    act: page => page.getByRole('tab', { name: 'Breakdown' }).click(),
    shown: page => page.getByRole('heading', { name: 'By split' }),
  },
  {
    name: 'a gate',
    path: () => `/prompts/${sample.promptId}`,
    act: click('Set a gate'),
    shown: dialog('Set a gate'),
  },
  { name: 'a new key', path: () => '/settings/keys', act: click('New key'), shown: dialog('New API key') },
]

test.describe('everything that opens on a page is accessible', () => {
  for (const { name, path, act, shown } of OPENED) {
    test(name, async ({ page, context }) => {
      await signIn(context, sample.ownerKey)
      await open(page, `${path()}${path().includes('?') ? '&' : '?'}project=${sample.project.slug}`)
      await act(page)
      await expect(shown(page)).toBeVisible()
      await expectAccessible(page)
    })
  }
})

/** The buttons that open a dialog, by page. */
const DIALOGS: readonly { path: () => string; buttons: readonly string[] }[] = [
  { path: () => '/settings/projects', buttons: ['New project', 'Edit Support', 'Delete Support'] },
  { path: () => '/settings/keys', buttons: ['Edit Ada', 'Replace Ada', 'Revoke Ada'] },
  { path: () => '/settings/users', buttons: ['Add user', 'Edit Ada', 'Delete Ada'] },
  { path: () => '/settings/error-types', buttons: ['New error type'] },
  { path: () => '/settings/step-names', buttons: ['Rename a step'] },
  { path: () => '/datasets', buttons: ['New dataset'] },
  { path: () => `/datasets/${sample.datasetId}`, buttons: ['Export'] },
  { path: () => '/prompts', buttons: ['New prompt'] },
  { path: () => `/prompts/${sample.promptId}`, buttons: ['Delete prompt'] },
  { path: () => '/knowledge-docs', buttons: ['New knowledge doc'] },
  { path: () => `/knowledge-docs/${sample.docId}`, buttons: ['Edit title', 'Delete knowledge doc'] },
]

test('each dialog is accessible and returns focus to its button', async ({ page, context }) => {
  test.setTimeout(120_000)
  await signIn(context, sample.ownerKey)
  for (const { path, buttons } of DIALOGS) {
    await page.goto(`${path()}?project=${sample.project.slug}`)
    for (const name of buttons) {
      await test.step(name, async () => {
        const button = page.getByRole('button', { name, exact: true }).first()
        await button.click()
        await expectAccessibleDialog(page)
        await page.keyboard.press('Escape')
        await expect(page.getByRole('dialog')).toHaveCount(0)
        await expect(button).toBeFocused()
      })
    }
  }
})

test('the account menu is accessible', async ({ page, context }) => {
  await signIn(context, sample.ownerKey)
  await page.goto(`/settings?project=${sample.project.slug}`)
  await page.getByRole('button', { name: 'Owner Acme' }).click()
  await expect(page.getByRole('menuitem', { name: 'Sign out' })).toBeVisible()
  await expectAccessible(page)
})

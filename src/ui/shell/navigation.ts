import {
  IconBook2,
  IconChartHistogram,
  IconChecklist,
  IconDatabase,
  IconFlask,
  IconListTree,
  IconMessageCode,
  IconRoute,
  IconScale,
  IconSettings,
  IconTool,
  IconUsers,
} from '../icons/index.ts'

/** The app's sections, as the navigation and the command palette list them. */
const SECTIONS = [
  { path: '/', label: 'Insights', description: 'What to fix next', Icon: IconChartHistogram },
  { path: '/problems', label: 'Problems', description: 'From a cause to a fix that holds', Icon: IconTool },
  { path: '/review', label: 'Review', description: 'Outputs waiting for review', Icon: IconChecklist },
  { path: '/traces', label: 'Traces', description: 'Every pipeline run', Icon: IconListTree },
  {
    path: '/attribution',
    label: 'Attribution',
    description: 'How often the engine agrees with reviewers',
    Icon: IconRoute,
  },
  { path: '/datasets', label: 'Datasets', description: 'Reviewed examples by step', Icon: IconDatabase },
  { path: '/prompts', label: 'Prompts', description: 'Prompt versions by step', Icon: IconMessageCode },
  {
    path: '/experiments',
    label: 'Experiments',
    description: 'Prompt versions tested on reviewed outputs',
    Icon: IconFlask,
  },
  { path: '/knowledge-docs', label: 'Knowledge docs', description: 'Documents that steps rely on', Icon: IconBook2 },
  {
    path: '/settings',
    label: 'Settings',
    description: 'Projects, keys, users, error types, audit log',
    Icon: IconSettings,
  },
] as const

/** The queue of outputs on which reviewers disagree. Only adjudicators have it. */
export const ADJUDICATION = {
  path: '/adjudication',
  label: 'Adjudication',
  description: 'Outputs on which reviewers disagree',
  Icon: IconScale,
} as const

/** How often reviewers agree. Only managers and adjudicators have it. */
const AGREEMENT = {
  path: '/agreement',
  label: 'Agreement',
  description: 'How often reviewers agree',
  Icon: IconUsers,
} as const

export type Section = (typeof SECTIONS)[number] | typeof ADJUDICATION | typeof AGREEMENT

/** What the signed-in user may see. */
interface Allowed {
  isAdjudicator: boolean
  mayCompare: boolean
}

/** The signed-in user's sections. Sections that only some users see come last, so that they don't shift the others. */
export const sectionsFor = ({ isAdjudicator, mayCompare }: Allowed): readonly Section[] => [
  ...SECTIONS,
  ...(isAdjudicator ? [ADJUDICATION] : []),
  ...(mayCompare ? [AGREEMENT] : []),
]

/** Whether a URL is in a section. */
export const isIn = (section: string, address: string): boolean =>
  section === '/' ? address === '/' : address === section || address.startsWith(`${section}/`)

import { type PropsWithChildren, useEffect } from 'react'
import { useSearchParams } from 'wouter'
import { withParameters } from '../parts/parameters.ts'
import { rememberProject, useProject } from '../session/project.ts'
import { AccountMenu } from './account-menu.tsx'
import { CommandButton } from './command-button.tsx'
import { Disputes } from './disputes.tsx'
import { Frame } from './frame.tsx'
import { ADJUDICATION } from './navigation.ts'
import { ProjectSelect } from './project-select.tsx'
import { useSections } from './use-sections.ts'

/** The frame around every page, for a signed-in user. */
export function Shell({ children }: PropsWithChildren) {
  useProjectInUrl()
  const sections = useSections()
  return (
    <Frame
      project={<ProjectSelect />}
      command={<CommandButton />}
      account={<AccountMenu />}
      sections={sections}
      waitingIn={section => section === ADJUDICATION && <Disputes />}
    >
      {children}
    </Frame>
  )
}

/** Keeps the project in the URL, so that shared links open in it. */
function useProjectInUrl(): void {
  const project = useProject()
  const [parameters, setParameters] = useSearchParams()
  const named = parameters.get('project')
  useEffect(() => {
    if (project !== undefined) rememberProject(project)
  }, [project])
  useEffect(() => {
    if (project === undefined || project === named) return
    setParameters(withParameters({ project }), { replace: true })
  }, [project, named, setParameters])
}

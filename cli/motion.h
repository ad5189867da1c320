/* motion.h - what energies, `bioinfer md` and `bioinfer relax` share: frames. */
#ifndef BI_CLI_MOTION_H
#define BI_CLI_MOTION_H

#include "run.h"

/* The units of frames with energies, and of trajectories, in extended XYZ: ASE's. */
#define CLI_FRAME_UNITS "energy=eV,forces=eV/angstrom,stress=eV/angstrom^3"
#define CLI_TRAJECTORY_UNITS CLI_FRAME_UNITS ",kinetic_energy=eV,temperature=K"
/* Opens the frames of the input into *(bioinfer_frames **)run->source_user, and sets
 * cli->input_name; an exit code. */
int cli_frames_open(struct cli_run *run);
/* A bioinfer_source; user: the bioinfer_frames *, by its address. */
int cli_frames_next(void *frames, struct bioinfer_record *record, struct bioinfer_error *err);
/* Asks whether a signal came, as `stop` of the library's tasks. */
int cli_motion_stop(void *user);
/* The stage at which a run of this status failed, for its exit code. */
enum cli_stage cli_motion_stage(const struct cli_options *o, int status);
/* Tells whether -o names an output; false: said why. */
bool cli_motion_named(struct cli *cli);
/* cli_weight of a frame. */
struct cli_weight cli_motion_weigh(const struct cli *cli, const struct bioinfer_record *record);

#endif

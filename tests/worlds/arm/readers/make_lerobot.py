"""Makes the files of `lerobot_0_4_4.zip` again, with LeRobot itself.

    pip install lerobot==0.4.4; python make_lerobot.py FOLDER

LeRobot takes no part in the tests: it wants PyTorch. These files it wrote with an empty module in the place of that.
"""

import sys
from pathlib import Path

import numpy as np

JOINTS = ["shoulder.pos", "elbow.pos", "lift.pos"]
FEATURES = {
    "observation.state": {"dtype": "float32", "shape": (7,), "names": [*JOINTS, "x", "y", "z", "gripper.pos"]},
    "action": {"dtype": "float32", "shape": (3,), "names": {"motors": JOINTS}},
    "observation.images.front": {"dtype": "video", "shape": (48, 64, 3), "names": ["height", "width", "channels"]},
    "next.done": {"dtype": "bool", "shape": (1,), "names": None},
}


def write(root: Path) -> None:
    """Two episodes of 20 and 24 rows."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    dataset = LeRobotDataset.create("made/tiny", 20, FEATURES, root=root, robot_type="so101_follower", use_videos=True)
    for episode, (rows, told) in enumerate(((20, "pick it up"), (24, "put it down"))):
        for n in range(rows):
            t = n / 20
            state = [np.sin(t), np.cos(t), 0.1 * t, 0.3 + 0.02 * t, 0.1 * np.sin(t), 0.2, 100.0 * (n > 10)]
            picture = np.full((48, 64, 3), n * 4, np.uint8)
            picture[:, : 10 * episode + 3] = 200
            row = {"observation.state": np.array(state, np.float32), "action": np.array(state[:3], np.float32)}
            row |= {"observation.images.front": picture, "next.done": np.array([n == rows - 1]), "task": told}
            dataset.add_frame(row)
        dataset.save_episode()
    dataset.finalize()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
